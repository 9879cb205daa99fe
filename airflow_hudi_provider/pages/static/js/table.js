// One table: its name, its state, and one of six tabs. The part of the address after # selects the tab.
import { html, useEffect, useState } from "../vendor/htm-preact.module.js";
import { FilesTab } from "./files.js";
import { OverviewTab } from "./overview.js";
import { PartitionsTab } from "./partitions.js";
import { AsOf, DagLink, Failure, Listed, Path, Read, Section, Status, Table, useRead } from "./parts.js";
import { SchemaTab } from "./schema.js";
import { LastFailure } from "./tables.js";
import { TimelineTab } from "./timeline.js";

const TABS = [
  ["overview", "Overview"],
  ["partitions", "Partitions"],
  ["files", "Files"],
  ["schema", "Schema"],
  ["timeline", "Timeline"],
  ["settings", "Settings"],
];

// Returns the tab that the address names and, for the tab of files, the partition path after the name of the tab.
function placeInAddress() {
  const [tab, partition] = window.location.hash.slice(1).split("/", 2);
  return { tab: TABS.some(([name]) => name === tab) ? tab : "overview", partition: partition === undefined ? null : decodeURIComponent(partition) };
}

function usePlace() {
  const [place, setPlace] = useState(placeInAddress());
  useEffect(() => {
    const follow = () => setPlace(placeInAddress());
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, []);
  return place;
}

export function TablePage({ id }) {
  const [version, setVersion] = useState(0);
  const place = usePlace();
  const path = `tables/${encodeURIComponent(id)}`;
  const overview = useRead(`${path}/overview`, {}, version);
  const known = overview.value;
  useEffect(() => {
    if (known) document.title = `${known.name} – Hudi table`;
  }, [known]);
  return html`
    <nav><a href="?all">All Hudi tables</a></nav>
    ${overview.error && html`<${Failure} error=${overview.error} />`}
    ${!known && !overview.error && html`<p class="muted" role="status">Reading the table …</p>`}
    ${known && !known.exists && html`<${NotCreated} table=${known} overview=${overview} refresh=${() => setVersion(version + 1)} />`}
    ${known && known.exists && html`<${Known} path=${path} place=${place} overview=${overview} version=${version} refresh=${() => setVersion(version + 1)} />`}
  `;
}

const Title = ({ table, status, ms, isReading, refresh }) => html`
  <header>
    <h1>${table.name} ${status && html`<${Status} value=${status} />`}</h1>
    <p class="muted path"><code><${Path} path=${table.base_path} /></code></p>
    <${AsOf} ms=${ms} isReading=${isReading} refresh=${refresh} />
  </header>
`;

function NotCreated({ table, overview, refresh }) {
  const dags = [...new Set(table.writers.map((each) => each.dag_id))];
  return html`
    <${Title} table=${table} status="absent" ms=${Date.now()} isReading=${overview.isReading} refresh=${refresh} />
    <div class="notice">
      <strong>This table does not exist yet.</strong>
      <p>The first successful write creates the table. <${LastFailure} failure=${table.last_failure} writers=${table.writers} /></p>
      ${dags.length > 0 && html`<p>Written by: <${Listed} items=${dags.map((each) => html`<${DagLink} dagId=${each} />`)} /></p>`}
    </div>
  `;
}

function Known({ path, place, overview, version, refresh }) {
  const health = useRead(`${path}/health`, {}, version);
  const table = overview.value;
  const address = (tab) => (tab === "files" && place.partition !== null ? `#files/${encodeURIComponent(place.partition)}` : `#${tab}`);
  return html`
    <${Title}
      table=${table}
      status=${health.value && health.value.status}
      ms=${table.as_of_ms}
      isReading=${overview.isReading || health.isReading}
      refresh=${refresh}
    />
    ${table.last_failure &&
    html`
      <div class="notice warning">
        <strong><${LastFailure} failure=${table.last_failure} /></strong>
        <p>This notice disappears after a later run of the same task has succeeded for this table, or has found nothing to do.</p>
      </div>
    `}
    <nav class="tabs" aria-label="Parts of the page">
      ${TABS.map(([name, text]) => html`<a href=${address(name)} aria-current=${name === place.tab ? "page" : undefined}>${text}</a>`)}
    </nav>
    <${Tab} path=${path} place=${place} table=${table} health=${health} version=${version} />
  `;
}

function Tab({ path, place, table, health, version }) {
  if (place.tab === "partitions") return html`<${PartitionsTab} path=${path} table=${table} version=${version} />`;
  if (place.tab === "files") return html`<${FilesTab} path=${path} table=${table} partition=${place.partition} version=${version} />`;
  if (place.tab === "schema") return html`<${SchemaTab} path=${path} version=${version} />`;
  if (place.tab === "timeline") return html`<${TimelineTab} path=${path} health=${health} version=${version} />`;
  if (place.tab === "settings") return html`<${SettingsTab} path=${path} table=${table} version=${version} />`;
  return html`<${OverviewTab} path=${path} table=${table} health=${health} version=${version} />`;
}

function SettingsTab({ path, table, version }) {
  const settings = useRead(`${path}/settings`, {}, version);
  const { recorded_by: recorded } = table.limits;
  return html`
    <${Section} title="File sizes" hint=${recorded ? `Recorded by the write ${recorded}.` : "Hudi's defaults, because no write on the active timeline records its limits."}>
      <${Table} caption="Limits of file sizes" head=${["Option", "Value"]}>
        <tr><td><code>hoodie.parquet.small.file.limit</code></td><td class="number">${table.limits.small_file_limit_bytes}</td></tr>
        <tr><td><code>hoodie.parquet.max.file.size</code></td><td class="number">${table.limits.max_file_size_bytes}</td></tr>
      <//>
    <//>
    <${Section} title="Properties of the table" hint="The content of .hoodie/hoodie.properties. Options of writers are not stored in the table.">
      <${Read} state=${settings} what="the properties">
        ${(value) => html`
          <${Table} caption="Properties of the table" head=${["Property", "Value"]}>
            ${Object.entries(value.properties).map(
              ([key, text]) => html`<tr><td><code>${key}</code></td><td><code class="wrapped">${text}</code></td></tr>`,
            )}
          <//>
        `}
      <//>
    <//>
  `;
}
