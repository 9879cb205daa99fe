// The first tab of a table: totals, facts, findings with advice, pending instants, and the gain of a clustering or a
// compaction.
import { html } from "../vendor/htm-preact.module.js";
import { ago, bytes, counted, duration, inSentence, moment, number, percent, rows, rowsHint } from "./format.js";
import { AssetLink, DagLink, Facts, Failure, Listed, Read, Section, Table, TableLink, TaskLink, useRead } from "./parts.js";

export function OverviewTab({ path, table, health, version }) {
  const plan = useRead(`${path}/plan`, {}, version);
  return html`
    <${Totals} table=${table} />
    <${Read} state=${health} what="the state of the table">${(report) => html`<${Findings} report=${report} />`}<//>
    <${About} table=${table} report=${health.value} />
    <${Sources} path=${path} version=${version} />
    ${table.table_type === "MERGE_ON_READ" && html`<${Compaction} path=${path} version=${version} />`}
    <${Section} title="Clustering">
      <${Read} state=${plan} what="file groups">${(value) => html`<${Plan} plan=${value} />`}<//>
    <//>
    ${health.value && html`<${MetadataTable} partitions=${health.value.metadata_table} state=${health.value.metadata_table_state} measures=${health.value.measures} />`}
  `;
}

function Totals({ table }) {
  const commit = table.last_commit;
  return html`
    <dl class="figures">
      <${Figure} name="Size" value=${bytes(table.size_bytes)} />
      <${Figure} name="Files" value=${number(table.files)} />
      <${Figure} name="Rows" value=${rows(table)} title=${rowsHint(table)} />
      <${Figure} name="Partitions" value=${table.partition_fields.length === 0 ? "not partitioned" : number(table.partition_count)} />
      <${Figure} name="Small files" value=${`${number(table.small_files)} of ${number(table.files)}`} title=${`Files below ${bytes(table.limits.small_file_limit_bytes)} that share their partition with another such file`} />
      ${table.log_files > 0 && html`<${Figure} name="Log files" value=${`${number(table.log_files)}, ${bytes(table.log_bytes)}`} title="Log files that no compaction has merged; the size of the table contains them" />`}
      <${Figure} name="Last commit" value=${commit ? ago(commit.at_ms) : "never"} title=${commit ? moment(commit.at_ms) : ""}>
        ${commit && html`<div class="muted small">${commit.operation.replaceAll("_", " ")} by ${commit.by ? html`<${TaskLink} by=${commit.by} />` : "another program"}</div>`}
      <//>
    </dl>
  `;
}

const Figure = ({ name, value, title, children }) => html`
  <div title=${title}>
    <dt>${name}</dt>
    <dd>${value}${children}</dd>
  </div>
`;

const FLAGS = ["damaged", "metadata_unusable"]; // measures that are 0 or 1
const LEVELS = { fail: "failing", warn: "warning" };

function Findings({ report }) {
  return html`
    ${report.damage && html`<div class="notice failing" role="alert"><strong>The timeline cannot be trusted.</strong><p>${report.damage}</p></div>`}
    ${report.findings
      .filter((each) => each.measure !== "damaged" || !report.damage)
      .map(
        (each) => html`
          <div class="notice ${LEVELS[each.level]}">
            <strong>${sentence(each, report)}</strong>
            <p>${each.advice}</p>
          </div>
        `,
      )}
    <${Pending} instants=${report.pending} />
  `;
}

// A finding in words. Shares are shown in percent.
function sentence({ title, measure, value, limit }, { measures, small_file_limit_bytes: small }) {
  if (measure === "small_file_ratio") {
    return `${counted(measures.small_files, "file")} below ${bytes(small)} (${percent(value)} of all files) could be merged; the limit is ${percent(limit)}`;
  }
  if (FLAGS.includes(measure)) return title;
  const shown = (each) => (measure.endsWith("_bytes") ? bytes(each) : measure.startsWith("hours") || measure.endsWith("_hours") ? duration(3600 * each) : number(each));
  if (limit === 0 && /^(\S+ )?(files|instants)$/i.test(title)) return counted(value, inSentence(title).slice(0, -1));
  return limit === 0 ? `${title}: ${shown(value)}` : `${title}: ${shown(value)}, above ${shown(limit)}`;
}

function Pending({ instants }) {
  if (instants.length === 0) return null;
  return html`
    <${Section} title=${instants.some((each) => each.is_dead) ? "Pending and stuck" : "Pending"}>
      ${instants.map(
        (each) => html`
          <div class="notice ${each.is_dead ? "warning" : ""}">
            <strong>${(each.operation || each.action).toLowerCase().replaceAll("_", " ")} ${each.instant_time}, ${each.state} for ${duration(each.age_s)}</strong>
            <p>
              ${each.meaning}. ${each.file_groups > 0 && html`The plan contains ${counted(each.file_groups, "file group")}.`}
              ${" "}Heartbeat: ${each.heartbeat}.
            </p>
            ${each.blocks.length > 0 && html`<p>This instant blocks: ${each.blocks.join("; ")}.</p>`}
            ${each.next_step && html`<p><strong>Do:</strong> ${each.next_step}.</p>`}
            ${each.avoid && html`<p><strong>Avoid:</strong> ${each.avoid}.</p>`}
          </div>
        `,
      )}
    <//>
  `;
}

function About({ table, report }) {
  const { limits } = table;
  const facts = [
    ["Record key", table.record_key.join(", ") || "none: the rows have no keys"],
    ["Partition fields", table.partitioned_by || "none"],
    ["Ordering fields", table.ordering_fields.join(", ") || "none: the version of the later commit wins"],
    ["Type and version", `${table.table_type.toLowerCase().replaceAll("_", " ")}, table version ${table.table_version}`],
    ["Small files", `below ${bytes(limits.small_file_limit_bytes)}, and not alone in their partition; ${limits.recorded_by ? "the limit that the newest write used" : "Hudi's default, because no write recorded its limit"}`],
    ["Metadata table", table.metadata_table.length ? `on: ${table.metadata_table.join(", ")}` : "off"],
    ...(report && report.times_ms ? services(report) : []),
    ["Lock", html`<${Lock} lock=${table.lock} />`],
    ...usersOf(table),
  ];
  return html`<${Section} title="About this table"><${Facts} facts=${facts} /><//>`;
}

// The facts that Airflow stores, so that the page also has them if it cannot read the table.
export const usersOf = (table) => [
  ["Asset", table.asset_id ? html`<${AssetLink} id=${table.asset_id} name=${table.name} />` : "none: the configuration names the table"],
  ["Written by", html`<${Tasks} tasks=${writers(table)} />`],
  ["Also used by", html`<${Tasks} tasks=${table.others} />`],
  ["Triggers", table.triggered.length ? html`<${Listed} items=${table.triggered.map((each) => html`<${DagLink} dagId=${each} />`)} />` : "no DAG"],
];

// The table does not store which services are configured, so the page shows when each service last ran.
function services({ times_ms: times, measures }) {
  const since = (count) => (count ? `, ${counted(count, "commit")} since then` : "");
  const ran = (ms, count) => (ms === null ? "never ran" : html`<span title=${moment(ms)}>ran ${ago(ms)}${since(count)}</span>`);
  return [
    ["Clustering", ran(times.last_clustering, measures.commits_since_clustering)],
    ["Cleaning", ran(times.last_clean, measures.commits_since_clean)],
  ];
}

// The tasks that name the table as an outlet, or else the task of the last commit.
const writers = ({ writers: named, last_commit: last }) => (named.length === 0 && last && last.by ? [last.by] : named);

const Tasks = ({ tasks }) =>
  tasks.length === 0 ? "no task that Airflow knows" : html`<${Listed} items=${tasks.map((by) => html`<${TaskLink} by=${by} />`)} />`;

function Lock({ lock }) {
  if (!lock) return "free";
  if (lock.problem) return `${lock.path} cannot be read: ${lock.problem}`;
  const owner = lock.by ? html`<${TaskLink} by=${lock.by} />` : lock.request_id ? `request ${lock.request_id}` : lock.owner || "an unknown writer";
  const since = lock.changed_ms ? html`, <span title=${moment(lock.changed_ms)}>last refreshed ${ago(lock.changed_ms)}</span>` : "";
  const end = lock.is_expired ? "; its owner has died, and the next writer takes the lock over" : "";
  return html`held by ${owner}${since}${end}`;
}

function Plan({ plan }) {
  return html`
    <p>
      ${plan.groups.length === 0 ? `Nothing to cluster. ${plan.reason.charAt(0).toUpperCase()}${plan.reason.slice(1)}.` : benefit(plan)}
      ${plan.commits && html` <span class="muted">${plan.commits}.</span>`}
    </p>
    ${plan.groups.length > 0 &&
    html`
      <details open=${plan.is_worth_it}>
        <summary>${counted(plan.group_count, "group")} that a clustering would rewrite now, with the size limits of the writers</summary>
        <${Table} kind="groups" caption="Groups that a clustering would rewrite" head=${["Partition", NUMBER("Files now"), NUMBER("Files afterwards"), NUMBER("Size"), "Why"]}>
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
        ${plan.group_count > plan.groups.length && html`<p class="muted">The table shows ${number(plan.groups.length)} of ${counted(plan.group_count, "group")}.</p>`}
      </details>
    `}
    <${Skipped} reasons=${plan.skipped} title="File groups left out, with reasons" />
  `;
}

// The source tables whose changes this table loads. Most tables have no source table, so the section appears only after
// the read.
function Sources({ path, version }) {
  const { value, error } = useRead(`${path}/sources`, {}, version);
  if (error) return html`<${Section} title="Sources"><${Failure} error=${error} /><//>`;
  if (!value || value.sources.length === 0) return null;
  return html`
    <${Section} title="Sources" hint="Tables whose changes this table loads, and what the last load of each has not read.">
      <${Table} kind="groups" caption="Sources of this table" head=${["Source", "Read until", NUMBER("Commits behind"), NUMBER("Rows behind"), NUMBER("Time behind")]}>
        ${value.sources.map((each) => html`<${Source} source=${each} />`)}
      <//>
    <//>
  `;
}

function Source({ source }) {
  const { chain, base_path: basePath, table_id: id, name } = source;
  if (source.is_hidden) return html`<tr><td colspan="5" class="muted">a table that you may not see</td></tr>`;
  const named = html`${id ? html`<${TableLink} id=${id} name=${name} />` : basePath || chain}${chain !== basePath.replace(/^[a-z0-9]+:\/\//, "").replace(/^\/|\/$/g, "") && html` <span class="muted">(chain ${chain})</span>`}`;
  const unknown = source.problem || (id ? "" : "not read: neither an asset nor the configuration names this table");
  if (unknown) return html`<tr><td>${named}</td><td>${source.position}</td><td colspan="3" class="muted">${unknown}</td></tr>`;
  return html`
    <tr>
      <td>${named}</td>
      <td title=${source.position}>${moment(source.position_ms)}</td>
      <td class="number">${source.is_exact ? "" : "≥ "}${number(source.commits)}</td>
      <td class="number">${source.rows === null ? "unknown" : number(source.rows)}</td>
      <td class="number">${source.since_ms === null ? "0 s" : duration((Date.now() - source.since_ms) / 1000)}</td>
    </tr>
  `;
}

// The log files that a compaction would merge now. Only merge-on-read tables have log files.
function Compaction({ path, version }) {
  const plan = useRead(`${path}/compaction`, {}, version);
  return html`
    <${Section} title="Compaction">
      <${Read} state=${plan} what="log files">${(value) => html`<${CompactionPlan} plan=${value} />`}<//>
    <//>
  `;
}

function CompactionPlan({ plan }) {
  const gain = `A compaction would merge ${counted(plan.log_files, "log file")}, ${bytes(plan.log_bytes)}, of ${counted(plan.slices, "file slice")}.`;
  return html`
    <p>
      ${plan.partitions.length === 0 ? `Nothing to compact: ${plan.reason}.` : gain}
      ${plan.trigger && html` <span class="muted">${plan.trigger}.</span>`}
    </p>
    ${plan.partitions.length > 0 &&
    html`
      <details>
        <summary>${counted(plan.partition_count, "partition")} with log files that a compaction would merge now</summary>
        <${Table} kind="groups" caption="Log files that a compaction would merge" head=${["Partition", NUMBER("File slices"), NUMBER("Log files"), NUMBER("Size of log files"), NUMBER("Size of base files")]}>
          ${plan.partitions.map(
            (part) => html`
              <tr>
                <td>${part.partition_path || "(not partitioned)"}</td>
                <td class="number">${number(part.slices)}</td>
                <td class="number">${number(part.log_files)}</td>
                <td class="number">${bytes(part.log_bytes)}</td>
                <td class="number">${part.base_bytes === null ? "" : bytes(part.base_bytes)}</td>
              </tr>
            `,
          )}
        <//>
        ${plan.partition_count > plan.partitions.length && html`<p class="muted">The table shows ${number(plan.partitions.length)} of ${counted(plan.partition_count, "partition")}.</p>`}
      </details>
    `}
    <${Skipped} reasons=${plan.skipped} title="File slices left out, with reasons" />
  `;
}

const Skipped = ({ reasons, title }) =>
  reasons.length > 0 &&
  html`
    <details>
      <summary>${title}</summary>
      <ul>
        ${reasons.map((reason) => html`<li>${reason}</li>`)}
      </ul>
    </details>
  `;

const NUMBER = (text) => ({ text, number: true });

function benefit({ files_before: before, files_after: after, is_worth_it: isWorthIt }) {
  const gain = `A clustering would replace these ${counted(before, "file")} by ${counted(after, "file")}.`;
  return isWorthIt ? gain : `Not worth a run: a clustering would rewrite only ${counted(before, "file")}. ${gain}`;
}

function MetadataTable({ partitions, state, measures }) {
  if (measures.metadata_bytes === undefined) return null;
  const { metadata_log_files: logs, metadata_log_bytes: logBytes, metadata_commits_since_compaction: commits } = measures;
  const facts = [
    ["Partitions", partitions.join(", ")],
    ["Being built", state.being_built.join(", ")],
    ["Size", bytes(measures.metadata_bytes)],
    ["Last compaction", state.last_compaction],
    [state.last_compaction ? "Commits since then" : "Commits", commits !== undefined && `${counted(commits, "commit")}${state.last_compaction ? "" : "; never compacted"}`],
    ["Waiting for compaction", logs !== undefined && `${counted(logs, "log file")}, ${bytes(logBytes)}`],
    ["Cannot be used", state.unusable],
    ["Problem", `${state.problem} ${state.path}`.trim()],
    ["Jobs refuse changes", state.refusal],
    ["Missing instants", state.missing_instants.join(", ")],
    ["Instants that the table does not have", state.unexplained_instants.join(", ")],
    ["Not compared", state.not_compared],
    ...state.difference_examples.map((each) => ["Difference", each]),
  ];
  return html`
    <${Section} title="Metadata table"><${Facts} facts=${facts.filter(([, text]) => text)} /><//>
  `;
}
