import { measureBus } from './bus/measure-bus.ts';
import { measureFanOut } from './fan-out/measure-fan-out.ts';
import { measureIdle } from './idle.ts';
import { startLoad } from './load-process.ts';
import { measureGroup, computeOutcomes, describeLoad, type Outcome, type Rounds } from './measure.ts';
import type { Options } from './options.ts';
import { measureOverload } from './overload.ts';
import { startBroker, startCluster, startEmbedded } from './product.ts';
import { computeAbsolutes, type Absolute } from './report.ts';
import { startOpenclaw } from './openclaw.ts';
import { startPortkey } from './portkey.ts';
import { cases, groupRows, groupKey, rows, type Group } from './rows.ts';
import { measureStart } from './startup.ts';
import { quantile } from './statistics.ts';
import { measureStorm } from './storm/measure-storm.ts';
import { measureStoredTurns } from './turns/stored-turns.ts';
import { measureQueue } from './turns/queued-turns.ts';
import { measureTurns } from './turns/measure-turns.ts';
import { startBaseline, startUpstream, type BaselineServers, type Subject } from './subject.ts';
import type { SubjectName } from './subject-name.ts';

export interface Results {
  outcomes: Outcome[];
  absolutes: Absolute[];
  notes: string[];
}

/** Foreign load in cores below which the machine counts as quiet. */
const QUIET = 0.15;

const LOADED_ROWS = new Set(rows.map(({ row }) => row));

/** Runs all parts. Each part starts and stops its own processes, so that no other process runs beside a measurement. */
export async function runAll(options: Options, onProgress: (description: string) => void): Promise<Results> {
  const results: Results = { outcomes: [], absolutes: [], notes: [] };
  if (options.rows.intersection(LOADED_ROWS).size > 0) await measureRows(options, onProgress, results);
  if (options.rows.has(6) || options.rows.has(16)) results.outcomes.push(...(await measureBus(options, onProgress)));
  if (options.rows.has(10) || options.rows.has(11)) results.outcomes.push(...(await measureFanOut(onProgress)));
  if (options.rows.has(12)) {
    onProgress(`${options.connections} idle WebSockets`);
    add(results, await idle(options.connections));
  }
  if (options.rows.has(21)) results.outcomes.push(...(await measureStorm(options.connections, onProgress)));
  if (options.rows.has(13)) add(results, await measureStart(options.starts * options.rounds, onProgress));
  if (options.rows.has(17) || options.rows.has(18)) add(results, await measureTurns(options, onProgress));
  if (options.rows.has(17)) add(results, await measureQueue(options.turns, onProgress));
  if (options.rows.has(18)) add(results, await measureStoredTurns(options.turns, onProgress));
  if (options.rows.has(19)) results.outcomes.push(...(await measureOverload(options, onProgress)));
  return results;
}

function add(results: Results, { outcomes, notes }: Pick<Results, 'outcomes' | 'notes'>): void {
  results.outcomes.push(...outcomes);
  results.notes.push(...notes);
}

async function measureRows(options: Options, onProgress: (what: string) => void, results: Results): Promise<void> {
  const requestedItems = rows.filter(({ row }) => options.rows.has(row));
  const groups = groupRows(requestedItems).map((group) => ({ group, rounds: new Map() as Rounds }));
  for (let start = 1; start <= options.starts; start++)
    await measureStarted(groups, options, (what) => onProgress(`start ${start}: ${what}`));
  for (const { group, rounds } of groups) {
    const claims = requestedItems.filter((row) => groupKey(row) === groupKey(group));
    results.outcomes.push(...claims.flatMap((row) => computeOutcomes(row, rounds)));
    results.absolutes.push(...computeAbsolutes(group, rounds));
    if (group.perSecond !== undefined) results.notes.push(lateness(group, rounds));
  }
  const foreignCores = Math.max(...results.absolutes.map((one) => one.foreignCores));
  if (foreignCores > QUIET)
    results.notes.push(
      `Foreign processes used up to ${foreignCores.toFixed(2)} cores during the measurement, so the figures are unreliable.`,
    );
  results.outcomes.sort((a, b) => a.row - b.row);
}

/** Notes the delay of the load generator, which is part of open-loop latencies. */
function lateness(group: Group, rounds: Rounds): string {
  const late = [...rounds].map(([name, results]) => {
    const lates = results.map(({ lateMs }) => lateMs);
    return `${quantile(lates, 0.5).toFixed(2)} ms before ${name}`;
  });
  return `At ${describeLoad(group)} the load generator itself was late, at p99, by ${late.join(', ')}.`;
}

/** Fills the compile cache: a first start keeps 20 MiB of compiler memory that later starts do not have. */
async function fillCompileCache(): Promise<void> {
  await using stack = new AsyncDisposableStack();
  await startCluster(await startBroker(stack), stack);
  await startEmbedded(stack);
}

/** Measures one start of all subjects. JIT compilation differs between starts, so there are several. */
async function measureStarted(
  groups: readonly { group: Group; rounds: Rounds }[],
  { rounds, seconds }: Options,
  onProgress: (what: string) => void,
): Promise<void> {
  await using stack = new AsyncDisposableStack();
  onProgress('starting ours and the baselines');
  const broker = await startBroker(stack);
  const upstream = groups.some(({ group }) => cases[group.of].completion) ? await startUpstream(stack) : undefined;
  const ours = [await startCluster(broker, stack, { upstream }), await startEmbedded(stack, { upstream })];
  const baselines = new Map<SubjectName, Subject>();
  for (const name of new Set(groups.flatMap(({ group }) => group.baselines))) {
    baselines.set(name, await startOther(name, { broker, upstream }, stack));
  }
  using load = await startLoad();
  for (const { group, rounds: results } of groups) {
    const subjects = [...ours, ...group.baselines.flatMap((name) => baselines.get(name) ?? [])];
    await measureGroup(group, subjects, results, { load, rounds, seconds, excludedPids: upstream?.pids ?? [], onProgress });
  }
}

async function startOther(name: SubjectName, ground: BaselineServers, stack: AsyncDisposableStack): Promise<Subject> {
  const { upstream } = ground;
  if (upstream !== undefined && name === 'upstream') return upstream;
  if (name === 'openclaw') return startOpenclaw(stack);
  return upstream !== undefined && name === 'portkey' ? startPortkey(upstream.url, stack) : startBaseline(name, ground, stack);
}

async function idle(connections: number): Promise<Pick<Results, 'outcomes' | 'notes'>> {
  await fillCompileCache();
  await using stack = new AsyncDisposableStack();
  const broker = await startBroker(stack);
  const ours = [await startCluster(broker, stack), await startEmbedded(stack)];
  return await measureIdle(ours, await startBaseline('bare-ws', { broker }, stack), connections);
}
