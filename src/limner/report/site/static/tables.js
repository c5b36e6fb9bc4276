// One table for all pages: TanStack's table-core sorts and pages; the markup is a plain <table>.
"use strict";

(() => {
  const { html } = L;
  const { useState, useEffect, useMemo, useRef } = preactHooks;
  const core = TableCore;

  function useTable(options) {
    const table = useRef(null);
    if (!table.current) {
      table.current = core.createTable({ state: {}, onStateChange() {}, renderFallbackValue: null, ...options });
    }
    const [state, setState] = useState(() => ({ ...table.current.initialState, ...options.initial }));
    table.current.setOptions((before) => ({
      ...before,
      ...options,
      state: { ...state, ...options.fixed },
      onStateChange: setState,
    }));
    return table.current;
  }

  function compared(a, b, id) {
    const [x, y] = [a.getValue(id), b.getValue(id)];
    if (typeof x === "string") return x.localeCompare(y, "en", { numeric: true, sensitivity: "base" });
    return x < y ? -1 : x > y ? 1 : 0;
  }

  function Head({ header }) {
    const { column } = header;
    const { meta } = column.columnDef;
    const sorted = column.getIsSorted();
    const order = { asc: "ascending", desc: "descending" }[sorted] || "none";
    const sort = `${meta.number ? "number" : ""} ${meta.first ? "first" : ""} ${meta.sort || ""}`;
    if (!column.getCanSort()) return html`<th scope="col" class=${sort} title=${meta.help}>${meta.name}</th>`;
    return html`<th scope="col" class=${sort} aria-sort=${order} title=${meta.help}>
      <button type="button" onClick=${column.getToggleSortingHandler()}>
        ${meta.name}<span class="arrow" aria-hidden="true">${{ asc: "▲", desc: "▼" }[sorted] || "↕"}</span>
      </button>
    </th>`;
  }

  function Cell({ cell }) {
    const { meta } = cell.column.columnDef;
    const shown = meta.cell ? meta.cell(cell.row.original) : (cell.getValue() ?? "–");
    if (meta.first) return html`<th scope="row" class="first">${shown}</th>`;
    return html`<td class=${`${meta.number ? "number" : ""} ${meta.sort || ""}`}>${shown}</td>`;
  }

  function Pager({ table, caption, total }) {
    const { pageIndex, pageSize } = table.getState().pagination;
    const to = Math.min(total, (pageIndex + 1) * pageSize);
    const button = (words, can, go) => html`<button type="button" disabled=${!can} onClick=${go}>${words}</button>`;
    return html`<nav class="pager" aria-label=${`Pages of ${caption}`}>
      ${button("← Previous", table.getCanPreviousPage(), () => table.previousPage())}
      <span role="status">${L.count(pageIndex * pageSize + 1)} to ${L.count(to)} of ${L.count(total)}</span>
      ${button("Next →", table.getCanNextPage(), () => table.nextPage())}
    </nav>`;
  }

  // Rows that are set apart come last, however the table is sorted.
  const sortedWith = (apart) => (table) => {
    const sorted = core.getSortedRowModel()(table);
    return () => {
      const model = sorted();
      const below = (row) => Number(Boolean(apart && apart(row.original)));
      return { ...model, rows: [...model.rows].sort((a, b) => below(a) - below(b)) };
    };
  };

  // Rows grouped in blocks, in order; a block's title gets a row.
  function bodies(rows, block) {
    const found = [];
    for (const row of rows) {
      const title = block ? block(row.original) || "" : "";
      if (!found.length || found.at(-1).title !== title) found.push({ title, rows: [] });
      found.at(-1).rows.push(row);
    }
    return found;
  }

  // Columns: {id, name, value(row), cell(row), number, help, first, sort}. Undefined values come last, however the table
  // is sorted; a column without values is not sortable. With `onSort`, the caller holds the order, in `sort`; `block`
  // returns the title of a row's block.
  function Table({ columns, rows, sort, onSort, caption, size = 50, rowClass, apart, block, empty }) {
    const defs = useMemo(
      () =>
        columns.map((column) => ({
          id: column.id,
          accessorFn: column.value || (() => undefined),
          enableSorting: Boolean(column.value),
          sortingFn: compared,
          sortUndefined: "last",
          sortDescFirst: Boolean(column.number),
          meta: column,
        })),
      [columns],
    );
    // The same order must be the same object: a new one would reset the table each time.
    const fixed = useMemo(() => (onSort ? { sorting: sort ? [sort] : [] } : {}), [Boolean(onSort), sort?.id, sort?.desc]);
    const table = useTable({
      data: rows,
      columns: defs,
      getCoreRowModel: core.getCoreRowModel(),
      getSortedRowModel: sortedWith(apart),
      getPaginationRowModel: core.getPaginationRowModel(),
      autoResetPageIndex: true,
      enableSortingRemoval: false,
      ...(onSort && {
        onSortingChange: (change) => onSort((typeof change === "function" ? change([sort]) : change)[0]),
      }),
      fixed,
      initial: { sorting: sort ? [sort] : [], pagination: { pageIndex: 0, pageSize: size } },
    });
    const total = table.getPrePaginationRowModel().rows.length;
    const last = Math.max(0, table.getPageCount() - 1);
    useEffect(() => {
      if (table.getState().pagination.pageIndex > last) table.setPageIndex(last);
    });
    return html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}>
        <table>
          <caption class="hidden">
            ${caption}
          </caption>
          <thead>
            <tr>
              ${table.getHeaderGroups()[0].headers.map((header) => html`<${Head} header=${header} />`)}
            </tr>
          </thead>
          ${bodies(table.getRowModel().rows, block).map(
            ({ title, rows: some }) => html`<tbody key=${title} class=${title ? "block" : ""}>
              ${title &&
              html`<tr class="blockhead">
                <td colspan=${columns.length}>${title}</td>
              </tr>`}
              ${some.map(
                (row) => html`<tr key=${row.id} class=${rowClass ? rowClass(row.original) : ""}>
                  ${row.getVisibleCells().map((cell) => html`<${Cell} cell=${cell} />`)}
                </tr>`,
              )}
            </tbody>`,
          )}
          ${!total &&
          html`<tbody>
            <tr>
              <td colspan=${columns.length} class="none">${empty || "Nothing matches."}</td>
            </tr>
          </tbody>`}
        </table>
      </div>
      ${total > size && html`<${Pager} table=${table} caption=${caption} total=${total} />`}`;
  }

  Object.assign(L, { Table });
})();
