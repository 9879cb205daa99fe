// The partitions of a table. The server sorts and searches, so that the browser gets at most a hundred rows at once.
import { html, useEffect, useState } from "../vendor/htm-preact.module.js";
import { ago, bytes, moment, number, rows, rowsHint } from "./format.js";
import { Paging, Read, Search, Table, useOrder, useRead } from "./parts.js";

const HEAD = [
  { text: "Partition", key: "path" },
  { text: "Files", key: "files", number: true },
  { text: "Small files", key: "small_files", number: true },
  { text: "Size", key: "size_bytes", number: true },
  { text: "Log files", key: "log_files", number: true, isOfLogs: true },
  { text: "Rows", key: "rows", number: true },
  { text: "Last write", key: "last_write_ms", number: true },
];
export const PAGE_ROWS = 100;

// Returns the parameters of `useRead` for the rows that the user wants to see, and the state of the controls.
export function usePart(first) {
  const [order, sortBy] = useOrder(first);
  const [search, setSearch] = useState("");
  const [offset, setOffset] = useState(0);
  useEffect(() => setOffset(0), [order, search]);
  const parameters = { sort: order.key, descending: order.descending, search, offset };
  const move = (direction) => setOffset(Math.max(0, offset + direction * PAGE_ROWS));
  return [parameters, { order, sortBy, search, setSearch, offset, move }];
}

export function PartitionsTab({ path, table, version }) {
  const hasLogs = table.table_type === "MERGE_ON_READ"; // copy-on-write tables have no log files
  const [parameters, part] = usePart({ key: "path", descending: false });
  const found = useLast(useRead(`${path}/partitions`, parameters, version));
  return html`
    <div class="controls"><${Search} value=${part.search} onInput=${part.setSearch} label="Search partition paths" /></div>
    <${Read} state=${found} what="partitions">
      ${(value) => html`
        <${Table} caption="Partitions" head=${HEAD.filter((column) => hasLogs || !column.isOfLogs)} order=${part.order} sortBy=${part.sortBy}>
          ${value.rows.map((each) => html`<${Row} key=${each.path} each=${each} hasLogs=${hasLogs} />`)}
        <//>
        <${Paging} offset=${part.offset} shown=${value.rows.length} count=${value.count} noun="partition" move=${part.move} />
      `}
    <//>
  `;
}

// Keeps the latest value until the next value has been read, so that a table does not disappear while the user types.
export function useLast(state) {
  const [last, setLast] = useState(null);
  useEffect(() => {
    if (state.value) setLast(state.value);
  }, [state.value]);
  return state.value || state.error || !last ? state : { ...state, value: last };
}

const Row = ({ each, hasLogs }) => html`
  <tr>
    <td><a href=${`#files/${encodeURIComponent(each.path)}`}>${each.path || "(not partitioned)"}</a></td>
    <td class="number">${number(each.files)}</td>
    <td class="number">${number(each.small_files)}</td>
    <td class="number">${bytes(each.size_bytes)}</td>
    ${hasLogs && html`<td class="number" title=${bytes(each.log_bytes)}>${number(each.log_files)}</td>`}
    <td class="number" title=${rowsHint(each)}>${rows(each)}</td>
    <td class="number" title=${moment(each.last_write_ms)}>${ago(each.last_write_ms)}</td>
  </tr>
`;
