// One table: its health, its history, and a preview of the next clustering.
import { html } from "../vendor/htm-preact.module.js";
import { Chart, laneOf, sizesOptions, timelineOptions } from "./charts.js";
import { ago, bytes, counted, duration, moment, number, percent } from "./format.js";
import { Read, Section, Status, Table, TaskLink, useRead } from "./parts.js";

const SHOWN_SERVICES = 20;
const SERVICES = ["clustering", "compaction", "clean", "rollback", "restore", "savepoint"];

export function TablePage({ id }) {
  const health = useRead(`tables/${encodeURIComponent(id)}/health`);
  const history = useRead(`tables/${encodeURIComponent(id)}/history`);
  const plan = useRead(`tables/${encodeURIComponent(id)}/plan`);
  return html`
    <nav><a href="?all">All Hudi tables</a></nav>
    <${Read} state=${health} what="files and timeline">${(value) => html`<${Health} report=${value} />`}<//>
    <${Section} title="Timeline">
      <${Read} state=${history} what="instants">${(value) => html`<${Timeline} history=${value} />`}<//>
    <//>
    <${Section} title="File sizes" hint="The chart shows the base files that readers saw after each of the latest writes.">
      <${Read} state=${history} what="writes">${(value) => html`<${Sizes} points=${value.sizes} end=${value.end} />`}<//>
    <//>
    <${Section} title="Worth clustering" hint="The files that a clustering with Hudi's defaults would rewrite now. This preview writes nothing.">
      <${Read} state=${plan} what="file groups">${(value) => html`<${Plan} plan=${value} />`}<//>
    <//>
    <${Section} title="Services that ran">
      <${Read} state=${history} what="instants">${(value) => html`<${Services} history=${value} />`}<//>
    <//>
  `;
}

function Health({ report }) {
  const { measures, times_ms: times } = report;
  return html`
    <h1>${report.name} <${Status} value=${report.status} /></h1>
    <p class="muted">
      <code>${report.base_path}</code>, ${report.table_type.toLowerCase().replaceAll("_", " ")}, table version ${" "}
      ${report.table_version}
    </p>
    ${report.damage && html`<div class="notice failing" role="alert"><strong>The timeline cannot be trusted.</strong><p>${report.damage}</p></div>`}
    <dl class="figures">
      <${Figure} name="Last commit" value=${ago(times.last_commit)} title=${moment(times.last_commit)} />
      <${Figure} name="Partitions" value=${number(report.partition_count)} />
      <${Figure} name="Small files" value=${share(measures)} />
      <${Figure} name="Since clustering" value=${counted(measures.commits_since_clustering || 0, "commit")} title=${ago(times.last_clustering)} />
      <${Figure} name="Since cleaning" value=${counted(measures.commits_since_clean || 0, "commit")} title=${ago(times.last_clean)} />
      <${Figure} name="Outdated" value=${bytes(measures.outdated_bytes || 0)} />
    </dl>
    ${report.findings.map(
      (each) => html`
        <div class="notice ${each.level === "fail" ? "failing" : "warning"}">
          <strong>${each.measure.replaceAll("_", " ")}: ${number(each.value)}, above ${number(each.limit)}</strong>
          <p>${each.advice}</p>
        </div>
      `,
    )}
    <${Pending} instants=${report.pending} />
    <${MetadataTable} partitions=${report.metadata_table} state=${report.metadata_table_state} measures=${measures} />
    <${Section} title="Limits of cleaning and archival">
      <ul>
        <li>Clean: ${report.retention || "nothing blocks cleaning"}</li>
        <li>Archive: ${report.archival || "nothing blocks archival"}</li>
      </ul>
    <//>
  `;
}

function MetadataTable({ partitions, state, measures }) {
  if (measures.metadata_bytes === undefined) return null;
  const facts = [
    ["Partitions", partitions.join(", ")],
    ["Being built", state.being_built.join(", ")],
    ["Size", bytes(measures.metadata_bytes)],
    ["Last compaction", state.last_compaction],
    ["Cannot be used", state.unusable],
    ["Problem", `${state.problem} ${state.path}`.trim()],
    ["Jobs refuse changes", state.refusal],
    ["Lacks", state.missing_instants.join(", ")],
    ["Unexplained", state.unexplained_instants.join(", ")],
    ["Not compared with the folders", state.not_compared],
    ...state.difference_examples.map((each) => ["Difference", each]),
  ];
  return html`
    <${Section} title="Metadata table">
      <ul>
        ${facts.filter(([, text]) => text).map(([name, text]) => html`<li>${name}: ${text}</li>`)}
      </ul>
    <//>
  `;
}

const share = ({ small_files: count, small_file_ratio: ratio }) =>
  ratio === undefined ? "" : `${number(count)} (${percent(ratio)})`;

const Figure = ({ name, value, title }) => html`
  <div title=${title}>
    <dt>${name}</dt>
    <dd>${value}</dd>
  </div>
`;

function Pending({ instants }) {
  if (instants.length === 0) return null;
  return html`
    <${Section} title="Pending and stuck">
      ${instants.map(
        (each) => html`
          <div class="notice ${each.is_dead ? "warning" : ""}">
            <strong>${each.operation || each.action} ${each.instant_time}, ${each.state} for ${duration(each.age_s)}</strong>
            <p>
              ${each.meaning} ${each.file_groups > 0 && html`The plan contains ${counted(each.file_groups, "file group")}.`}
              ${" "}Heartbeat: ${each.heartbeat}.
            </p>
            ${each.blocks.length > 0 && html`<p>This instant blocks: ${each.blocks.join("; ")}.</p>`}
            ${each.next_step && html`<p><strong>Do:</strong> ${each.next_step}</p>`}
            ${each.avoid && html`<p><strong>Do not:</strong> ${each.avoid}</p>`}
          </div>
        `,
      )}
    <//>
  `;
}

function Timeline({ history }) {
  const { instants, instant_count: all } = history;
  if (instants.length === 0) return html`<p class="muted">Nothing has been written yet.</p>`;
  const label = `${counted(instants.length, "instant")} by kind and time`;
  return html`
    ${history.archived_count > 0 && html`<p class="muted">The chart includes ${counted(history.archived_count, "archived write")}; other archived instants are not shown.</p>`}
    ${all > instants.length && html`<p class="muted">The chart shows the latest ${number(instants.length)} of ${number(all)} instants.</p>`}
    <${Chart} tall build=${() => timelineOptions(instants)} label=${label} depends=${instants} />
    <details>
      <summary>The latest instants as a table</summary>
      <${Table} caption="Latest instants" head=${["Instant", "What", "State", "Rows", "Written", "By"]}>
        ${instants
          .slice(-50)
          .reverse()
          .map((each) => html`<${InstantRow} key=${each.instant + each.action} each=${each} />`)}
      <//>
    </details>
  `;
}

function InstantRow({ each }) {
  const rows = each.rows && each.rows.inserted + each.rows.updated + each.rows.deleted;
  return html`
    <tr>
      <td title=${moment(each.requested_ms)}><code>${each.instant}</code></td>
      <td>${each.operation || each.action}</td>
      <td>${each.state}</td>
      <td class="number">${rows === undefined ? "" : number(rows)}</td>
      <td class="number">${each.files_written === undefined ? "" : `${counted(each.files_written, "file")}, ${bytes(each.bytes_written)}`}</td>
      <td>${each.by ? html`<${TaskLink} by=${each.by} />` : ""}</td>
    </tr>
  `;
}

function Sizes({ points, end }) {
  if (points.length === 0) return html`<p class="muted">Nothing has been written yet.</p>`;
  return html`
    <${Chart} tall build=${() => sizesOptions(points)} label="Files by size after each write" depends=${points} />
    <p class="muted">The chart begins at ${moment(points[0].at_ms)}. ${end}</p>
  `;
}

function Plan({ plan }) {
  return html`
    <p>
      ${plan.commits && `${plan.commits}. `}
      ${plan.groups.length === 0 ? `Nothing to cluster: ${plan.reason}.` : `${counted(plan.group_count, "group")} ${plan.group_count === 1 ? "is" : "are"} worth rewriting.`}
    </p>
    ${plan.groups.length > 0 &&
    html`
      <${Table} caption="Groups worth clustering" head=${["Partition", "Files now", "Files afterwards", "Bytes", "Why"]}>
        ${plan.groups.map(
          (group) => html`
            <tr>
              <td>${group.partition_path || "(not partitioned)"}</td>
              <td class="number">${number(group.input_files)}</td>
              <td class="number">${number(group.expected_files)}</td>
              <td class="number">${bytes(group.input_bytes)}</td>
              <td>${group.reason}</td>
            </tr>
          `,
        )}
      <//>
    `}
    ${plan.skipped.length > 0 &&
    html`
      <details>
        <summary>File groups left out, with reasons</summary>
        <ul>
          ${plan.skipped.map((reason) => html`<li>${reason}</li>`)}
        </ul>
      </details>
    `}
  `;
}

function Services({ history }) {
  const ran = history.instants.filter((each) => each.state === "completed" && SERVICES.includes(laneOf(each)));
  if (ran.length === 0) return html`<p class="muted">No table service has completed in the period of this history.</p>`;
  const before = new Map(history.sizes.map((point, index) => [point.instant, history.sizes[index - 1]]));
  const after = new Map(history.sizes.map((point) => [point.instant, point]));
  return html`
    <${Table} caption="Services that ran" head=${["Instant", "Service", "Files before", "Files after", "By"]}>
      ${ran
        .slice(-SHOWN_SERVICES)
        .reverse()
        .map(
          (each) => html`
            <tr>
              <td title=${moment(each.requested_ms)}><code>${each.instant}</code></td>
              <td>${laneOf(each)}</td>
              <td class="number">${files(before.get(each.instant))}</td>
              <td class="number">${files(after.get(each.instant))}</td>
              <td>${each.by ? html`<${TaskLink} by=${each.by} />` : ""}</td>
            </tr>
          `,
        )}
    <//>
  `;
}

const files = (point) => (point ? `${number(point.files)}, ${bytes(point.bytes)}` : "");
