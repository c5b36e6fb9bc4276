"""Everything around a run misbehaves: servers, disks, processes. What the store says stays true."""
