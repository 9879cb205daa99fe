// The live files of one partition of a table.
import { html } from "../vendor/htm-preact.module.js";
import { ago, bytes, counted, moment, number } from "./format.js";
import { Paging, Read, Search, Table, useRead } from "./parts.js";
import { useLast, usePart } from "./partitions.js";

const HEAD = [
  { text: "File", key: "path" },
  { text: "Size", key: "size_bytes", number: true },
  { text: "Rows", key: "rows", number: true },
  { text: "Written", key: "written_ms", number: true },
];

export function FilesTab({ path, table, partition, version }) {
  if (partition === null && table.partition_fields.length > 0 && table.partition_count === 1) {
    return html`<${OnlyPartition} path=${path} version=${version} />`;
  }
  if (partition === null && table.partition_fields.length > 0) {
    return html`<p>Choose a partition in the tab <a href="#partitions">Partitions</a>.</p>`;
  }
  return html`<${Files} key=${partition} path=${path} partition=${partition || ""} version=${version} />`;
}

function OnlyPartition({ path, version }) {
  const found = useRead(`${path}/partitions`, {}, version);
  return html`
    <${Read} state=${found} what="partitions">
      ${(value) => value.rows.map((each) => html`<${Files} key=${each.path} path=${path} partition=${each.path} version=${version} />`)}
    <//>
  `;
}

function Files({ path, partition, version }) {
  const [parameters, part] = usePart({ key: "size_bytes", descending: true });
  const found = useLast(useRead(`${path}/files`, { ...parameters, partition }, version));
  return html`
    <p>Partition <strong>${partition || "(not partitioned)"}</strong></p>
    <div class="controls"><${Search} value=${part.search} onInput=${part.setSearch} label="Search file names" /></div>
    <${Read} state=${found} what="files">
      ${(value) => html`
        <${Table} caption="Files of the partition" head=${HEAD} order=${part.order} sortBy=${part.sortBy}>
          ${value.rows.map((each) => html`<${Row} key=${each.name} each=${each} limit=${value.limits.small_file_limit_bytes} />`)}
        <//>
        <${Paging} offset=${part.offset} shown=${value.rows.length} count=${value.count} noun="file" move=${part.move} />
      `}
    <//>
  `;
}

const Row = ({ each, limit }) => html`
  <tr>
    <td><code>${each.name}</code>${each.log_files > 0 && html` <span class="muted">and ${counted(each.log_files, "log file")}</span>`}</td>
    <td class="number" title=${each.is_small ? `Below ${bytes(limit)}, like at least one other file of this partition: a clustering can merge them` : ""}>${each.is_small && html`<span class="muted">small </span>`}${bytes(each.size_bytes)}</td>
    <td class="number">${each.rows === null ? "not counted" : number(each.rows)}</td>
    <td class="number" title=${`${each.written_by}, ${moment(each.written_ms)}`}>${ago(each.written_ms)}</td>
  </tr>
`;
