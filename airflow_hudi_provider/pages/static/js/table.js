// One table: its name, its state, and one of six tabs. The part of the address after # selects the tab.
import { html, useEffect, useState } from "../vendor/htm-preact.module.js";
import { LastFailures, tableOf } from "./failures.js";
import { FilesTab } from "./files.js";
import { OverviewTab } from "./overview.js";
import { PartitionsTab } from "./partitions.js";
import { Failure, Read, Section, Table, Title, useRead } from "./parts.js";
import { SchemaTab } from "./schema.js";
import { TimelineTab } from "./timeline.js";
import { NotCreated, Unreadable } from "./unshown.js";

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
  const known = tableOf(overview);
  useEffect(() => {
    if (known) document.title = `${known.name} – Hudi table`;
  }, [known]);
  const content = () => {
    const shown = { table: known, overview, refresh: () => setVersion(version + 1) };
    if (overview.error) return known ? html`<${Unreadable} ...${shown} />` : html`<${Failure} error=${overview.error} />`;
    if (!known) return html`<p class="muted" role="status">Reading the table …</p>`;
    if (!known.exists) return html`<${NotCreated} ...${shown} />`;
    return html`<${Known} path=${path} place=${place} version=${version} ...${shown} />`;
  };
  return html`
    <nav><a href="?all">All Hudi tables</a></nav>
    ${content()}
  `;
}

function Known({ path, place, table, overview, version, refresh }) {
  const health = useRead(`${path}/health`, {}, version);
  const address = (tab) => (tab === "files" && place.partition !== null ? `#files/${encodeURIComponent(place.partition)}` : `#${tab}`);
  return html`
    <${Title}
      table=${table}
      status=${health.value && health.value.status}
      ms=${table.as_of_ms}
      isReading=${overview.isReading || health.isReading}
      refresh=${refresh}
    />
    <${LastFailures} table=${table} />
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
      <${Table} caption="Limits of file sizes" head=${["Option", { text: "Value", number: true }]}>
        <tr><td><code>hoodie.parquet.small.file.limit</code></td><td class="number">${table.limits.small_file_limit_bytes}</td></tr>
        <tr><td><code>hoodie.parquet.max.file.size</code></td><td class="number">${table.limits.max_file_size_bytes}</td></tr>
      <//>
    <//>
    <${Section} title="Properties of the table" hint="The content of .hoodie/hoodie.properties. Options of writers are not stored in the table.">
      <${Read} state=${settings} what="the properties">
        ${(value) => html`
          <${Table} kind="properties" caption="Properties of the table" head=${["Property", "Value"]}>
            ${Object.entries(value.properties).map(
              ([key, text]) => html`<tr><td><code>${key}</code></td><td><code class="wrapped">${text}</code></td></tr>`,
            )}
          <//>
        `}
      <//>
    <//>
  `;
}
