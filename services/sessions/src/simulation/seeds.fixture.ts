import { AssertionError } from 'node:assert/strict';
import { pause } from '@switchyard/service-kit';
import { NO_FAULTS, type Watching } from '@switchyard/testkit';
import { decideRequests, killRun } from './delegation.fixture.ts';
import { getExport } from './exports.fixture.ts';
import {
  createWorld,
  isQuiet,
  principal,
  remove,
  reset,
  startReplica,
  TOO_LONG,
  USUAL,
  type Replica,
  type Script,
  type Waits,
  type World,
} from './scenario.fixture.ts';

const CHANNELS = ['one', 'two', 'three'];
const AGENTS = ['wide', 'wide', 'narrow'];
const CROWD = [...AGENTS, ...Array.from({ length: 6 }, () => 'wide')];
/** Virtual time with requests and faults; afterwards everything is healed. */
const STORY_MS = 20_000;
/** Where turns interact, they arrive this densely in one session, and more of them. */
const CROWD_MS = 4_000;
const MORE = 4;
const STEPS = 60_000;

export interface Playing {
  sabotage?: Watching['sabotage'];
  /** Queue mode; by default turns run one after another. */
  waits?: Waits | undefined;
}

/** Plays the scenario of a seed to its end. Throws on a violated invariant. */
export async function playSeed(seed: number, { sabotage, waits }: Playing = {}): Promise<World> {
  const world = createWorld({ seed, waits, ...(sabotage ? { sabotage } : {}) });
  const { simulation, judge } = world;
  const { dice } = simulation;
  const rough = dice.chance(0.7);
  simulation.faults = rough
    ? { failsBefore: 0.02, failsAfter: 0.02, slow: dice.of([0, 0.02, 0.05]), passes: dice.of([0.02, 0.1, 0.3]), drops: 0.1, repeats: 0.1 }
    : { ...NO_FAULTS, passes: 0.1 };
  startReplica(world);
  startReplica(world);
  const outside = simulation.start('outside');
  const more = (isCrowd(world) ? MORE : 0) + (waits?.compacts ? 2 * MORE : 0);
  const asking = Array.from({ length: 3 + dice.below(5) + more }, (_, at) => sendMessage(world, at, outside.clock));
  const chaos = Array.from({ length: dice.below(4) }, () => disturb(world, outside.clock));
  if (waits?.delegates)
    asking.push(
      decideRequests(simulation, outside.clock, () => pick(world)),
      killRun(world, outside.clock, () => pick(world)),
    );
  let over = false;
  void Promise.all([...asking, ...chaos]).then(() => (over = true));
  const sent = await simulation.run(() => (judge.check(), world.delegation.judge.check(), over), STEPS);
  if (!sent) throw new Error('the clients got no reply');
  await heal(world);
  return world;
}

/** Stops all faults: accepted turns end, and the state becomes consistent. */
async function heal(world: World): Promise<void> {
  const { simulation, judge, replicas, sessions, turns } = world;
  simulation.faults = { ...NO_FAULTS, passes: 0.05 };
  if (!replicas.some(({ process }) => process.alive)) startReplica(world);
  const quiet = await simulation.run(() => (judge.check(), world.delegation.judge.check(), isQuiet(world)), STEPS);
  if (!quiet) throw new Error(`unfinished work: ${left(world)}`);
  judge.check();
  for (const error of world.wrong) throw error;
  judge.checkEnd(sessions.documents.values(), turns.documents.values());
  world.delegation.judge.checkEnd([...sessions.documents.values()], [...turns.documents.values()]);
  if (world.waits.remembers) judge.checkRemembered(turns.documents.values());
}

function left({ sessions, turns }: World): string {
  const busy = [...sessions.documents.values()].filter(({ depth, leaseUntil }) => depth > 0 || leaseUntil > 0);
  const open = [...turns.documents.values()].filter(({ state }) => state === 'queued' || state === 'running');
  return JSON.stringify({ busy, open: open.map(({ turnId, state, fence, attempts }) => ({ turnId, state, fence, attempts })) });
}

function isCrowd({ waits }: World): boolean {
  return waits.mode !== USUAL.mode || waits.policy !== USUAL.policy || waits.gathersMs !== undefined;
}

type Clock = Parameters<typeof pause>[0];

function scriptFor({ simulation: { dice }, waits }: World, turn: string): Script {
  const kinds = waits.delegates ? (['look', 'act', 'destroy', 'destroy', 'spawn', 'spawn'] as const) : (['look', 'act'] as const);
  const counts = waits.delegates ? [0, 1, 2] : [0, 0, 0, 1, 2];
  const tools = Array.from({ length: dice.of(counts) }, () => dice.of<Script['tools'][number]>(kinds));
  return { turn, pieces: 1 + dice.below(3), tools, pace: dice.of([0, 0, 10, 700]) };
}

/** A client: starts a turn, retries without a reply, or resets a session. */
async function sendMessage(world: World, at: number, clock: Clock): Promise<void> {
  const { dice } = world.simulation;
  const crowd = isCrowd(world);
  const [kind, channelId] = [dice.below(crowd ? 30 : 10), crowd || world.waits.compacts ? 'one' : dice.of(CHANNELS)];
  const [agentId, wait] = [dice.of(crowd ? CROWD : AGENTS), dice.below(crowd ? CROWD_MS : STORY_MS)];
  const keyed = dice.chance(0.7);
  const turnId = `turn_${String(at).padEnd(22, 'x')}`;
  const script = scriptFor(world, `turn_${at}`);
  await pause(clock, wait);
  if (kind < 2) return empty(world, channelId, clock);
  if (kind === 2) return cancel(world, { sessionKey: `default:alice:${channelId}` }, clock);
  if (kind === 3 && world.waits.compacts) return compact(world, channelId, clock);
  if (kind === 4 && world.waits.exports) return exportOne(world, channelId, clock);
  if (kind === 5 && world.waits.exports) return sideBySide(world, channelId, clock);
  const regrets = dice.chance(0.2);
  const resets = world.waits.resets && dice.chance(world.waits.compacts ? 0.1 : 0.25);
  const padded = world.waits.goesOn && dice.chance(0.3) ? { ...script, padding: TOO_LONG } : script;
  const message = resets ? '/reset' : JSON.stringify(padded);
  for (let tries = 0; tries < (keyed ? 4 : 1); tries += 1) {
    const replica = pick(world);
    if (!replica) {
      await pause(clock, 1_000);
      continue;
    }
    const request = {
      method: 'agent.execute' as const,
      turnId: tries === 0 ? turnId : `turn_${`${at}again${tries}`.padEnd(22, 'x')}`,
      message,
      agentId,
      session: `default:alice:${channelId}${world.waits.climbsMs !== undefined && at % 2 === 1 ? ':guild:them' : ''}`,
      ...(keyed ? { idempotencyKey: `key${at}` } : {}),
    };
    const sent = await withinReason(replica.runner.start(request as never, principal), clock);
    if (sent) {
      world.judge.accepted.add(sent.turnId);
      if (regrets) await cancel(world, { turnId: sent.turnId }, clock);
      if (dice.chance(0.7)) return;
    }
    await pause(clock, 100 + dice.below(5_000));
  }
}

/** Cancels sooner or later, maybe twice, on any replica. */
async function cancel(world: World, requested: { turnId: string } | { sessionKey: string }, clock: Clock): Promise<void> {
  const { dice } = world.simulation;
  await pause(clock, dice.below(dice.of([1, 100, 3_000])));
  for (let times = 1 + dice.below(2); times > 0; times -= 1) {
    const sent = await withinReason(pick(world)?.runner.cancel(requested, principal) ?? Promise.resolve(undefined), clock);
    if (sent) world.judge.getPromptMessages(sent.turns);
  }
}

async function empty(world: World, channelId: string, clock: Clock): Promise<void> {
  const { dice } = world.simulation;
  const [replica, key] = [pick(world), `default:alice:${channelId}`];
  if (!replica) return;
  await withinReason(dice.chance(0.5) ? reset(replica, world, key) : remove(replica, world, key), clock);
}

/** Compacts a session as `session.compact` does. */
async function compact(world: World, channelId: string, clock: Clock): Promise<void> {
  const replica = pick(world);
  if (!replica) return;
  const { signal } = new AbortController();
  const work = async ({ sessions, compaction }: Replica): Promise<unknown> => {
    const session = await sessions.for(principal).get(`default:alice:${channelId}`);
    return session && compaction.compact('default', session, { signal });
  };
  await withinReason(work(replica), clock);
}

/** A wrong export is a violation; a failed read is not. */
async function exportOne(world: World, channelId: string, clock: Clock): Promise<void> {
  const replica = pick(world);
  const work = replica && getExport(replica, world, `default:alice:${channelId}`).then((some) => void (world.exported += some ? 1 : 0));
  await withinReason(
    work?.catch((error: unknown) => void (error instanceof AssertionError && world.wrong.push(error))) ?? Promise.resolve(),
    clock,
  );
}

/** Starts all turns at one moment, on any replica, each maybe more than once. */
async function sideBySide(world: World, channelId: string, clock: Clock): Promise<void> {
  const { dice } = world.simulation;
  const kinds = [compact, exportOne, exportOne, compact, dice.chance(0.5) ? empty : exportOne];
  await Promise.all(kinds.map((call) => call(world, channelId, clock)));
}

function pick({ replicas, simulation }: World): Replica | undefined {
  const alive = replicas.filter(({ process }) => process.alive);
  return alive.length === 0 ? undefined : simulation.dice.of(alive);
}

/** Returns undefined on failure or timeout. */
async function withinReason<T>(work: Promise<T>, clock: Clock): Promise<T | undefined> {
  return Promise.race([work.catch(() => undefined), pause(clock, 8_000).then(() => undefined)]);
}

/** Kills, pauses or drains a replica; another one replaces it. */
async function disturb(world: World, clock: Clock): Promise<void> {
  const { simulation, judge } = world;
  const { dice } = simulation;
  await pause(clock, dice.below(STORY_MS));
  const replica = pick(world);
  if (!replica) return;
  const kind = dice.below(8);
  if (kind < 3) {
    replica.process.kill();
    await pause(clock, dice.below(3_000));
    startReplica(world);
  } else if (kind < 6) {
    replica.process.pause(500 + dice.below(14_000));
  } else if (kind === 6) {
    startReplica(world);
    world.replicas.splice(world.replicas.indexOf(replica), 1);
    void replica.own.disposeAsync();
  } else {
    judge.slept = true;
    simulation.skip(3_600_000);
  }
}

export const DELEGATES: Waits = { ...USUAL, resets: true, delegates: true };

/** Plays stories with approvals and sub-agents, and counts what happened in them. */
export async function playDelegation(goesOn: (seed: number) => boolean, first = 1) {
  const total = { approved: 0, refused: 0, executed: 0, runs: 0, announced: 0 };
  let seed = first;
  for (; goesOn(seed); seed += 1) {
    try {
      const { delegation } = await playSeed(seed, { waits: DELEGATES });
      for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += delegation.judge.seen[name];
    } catch (error) {
      throw new Error(`with SEED=${seed}`, { cause: error });
    }
  }
  return { played: seed - first, total };
}
