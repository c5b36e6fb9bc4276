"""The logic of a method: its log, its graph, and questions that are checked on the graph. All of it is pure."""
