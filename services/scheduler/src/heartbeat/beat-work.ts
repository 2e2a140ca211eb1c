import type { Bus } from '@switchyard/bus';
import { ServiceError, type Sections } from '@switchyard/contracts';
import type { Agent, AgentDirectory } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import { counter } from '@switchyard/telemetry';
import { createWork, type Lease, type Outcome, type Work } from '@switchyard/work';
import { checkSystem, type BeatCheckDeps } from './beat-checks.ts';
import type { BeatDocument, EventDocument } from './beat-document.ts';
import { CLEARED, failBeat, finishBeat } from './beat-end.ts';
import { createHeartbeatPrincipal, orderBeat, readBeatTurn } from './beat-order.ts';
import { NEVER, planBeat } from './beat-plan.ts';
import { readHeartbeatFile } from './heartbeat-file.ts';
import { getHeartbeatSettings, getIntervalMs, type HeartbeatSettings } from './heartbeat-settings.ts';

const MAX_CONCURRENT_BEATS = 32;
const MAX_ATTEMPTS = 20;
/** Delay before a call that failed for a passing reason is repeated. */
const RETRY_MS = 2_000;
/** A beat whose wake-up was lost asks for the end of its turn after this time. */
const TURN_POLL_INTERVAL_MS = 15_000;
/** Events that one heartbeat reads. The others are read by the next one. */
const MAX_EVENTS = 20;

export interface BeatDeps extends BeatCheckDeps {
  beats: Collection<BeatDocument>;
  events: Collection<EventDocument>;
  agents: AgentDirectory;
  bus: Bus;
  owner: string;
  settings: () => Sections['scheduler'];
  log: { warn(fields: object, message: string): void };
}

interface Beat {
  agent: Agent;
  settings: HeartbeatSettings;
}

/** Runs the heartbeats of all agents. While the turn of a beat runs, the beat is parked and no process holds it. */
export function createBeatWork(deps: BeatDeps): Work<BeatDocument> {
  const { beats, owner, now, log } = deps;
  return createWork<BeatDocument>({
    documents: beats,
    owner,
    now,
    log,
    capacity: () => MAX_CONCURRENT_BEATS,
    async run(lease) {
      const outcome = await runBeat(deps, lease);
      const ended = outcome.set?.lastOutcome;
      if (ended) counter('switchyard.heartbeat.beats', { outcome: ended }).add(1);
      return outcome;
    },
    poison: { maxAttempts: MAX_ATTEMPTS, outcome: () => ({ parkUntil: now() + TURN_POLL_INTERVAL_MS }) },
  });
}

async function runBeat(deps: BeatDeps, lease: Lease<BeatDocument>): Promise<Outcome<BeatDocument>> {
  const { document: beat, tenant } = lease;
  const agent = deps.agents.find(tenant, beat.agentId);
  if (!agent) return { parkUntil: NEVER, set: { plannedIntervalMs: 0, ...CLEARED } };
  const general = deps.settings().heartbeat;
  const context = { agent, settings: getHeartbeatSettings(agent, general) };
  if (beat.turnKey === undefined) return startBeat(deps, lease, { ...context, intervalMs: getIntervalMs(agent, general) });
  return beat.turnId === undefined ? orderTurn(deps, lease, context) : collectEnd(deps, lease, { ...context, turnId: beat.turnId });
}

/** Waits for the next beat, skips a beat that has nothing to do, or fixes the key of its turn, so that a beat has one turn. */
async function startBeat(
  deps: BeatDeps,
  lease: Lease<BeatDocument>,
  context: Beat & { intervalMs: number },
): Promise<Outcome<BeatDocument>> {
  const { document: beat, tenant } = lease;
  const { agent, settings, intervalMs: plannedIntervalMs } = context;
  const { agentId, wakeCount: wakesServed } = beat;
  const plan = planBeat(beat, plannedIntervalMs, deps.now());
  if (plan.kind === 'wait') return { parkUntil: plan.until, set: { plannedIntervalMs } };
  const { reason, instant } = plan;
  // The reason stays for a wake that arrives before this write.
  const { alerts, hasNews, set, emit } = await checkSystem(deps, tenant, beat);
  const served = { wakesServed, wakeAt: undefined, beatUntil: instant, plannedIntervalMs, ...set };
  const events = await listEvents(deps, tenant, agentId);
  const hasInput = hasNews || events.length > 0;
  const skipped = agent.suspended ? 'the agent is suspended' : await findSkipReason(deps, agent, { settings, reason, hasInput });
  if (skipped !== undefined) return { parkUntil: deps.now(), set: { ...served, lastOutcome: 'skipped', lastReason: skipped }, emit };
  const started = {
    turnKey: `heartbeat:${agentId}@${instant}:${reason}`,
    startedAt: deps.now(),
    reason,
    eventIds: events.map(({ eventId }) => eventId),
    ...(alerts.length === 0 ? {} : { alerts }),
  };
  await lease.write({ set: { ...served, ...started }, emit });
  return orderTurn(deps, lease, context);
}

async function listEvents({ events }: BeatDeps, tenant: string, agentId: string): Promise<EventDocument[]> {
  const found = await events.for({ tenant }).find({ agentId, unread: true }, { sort: [['receivedAt', 'asc']], limit: MAX_EVENTS });
  return found.items;
}

interface SkipOptions {
  settings: HeartbeatSettings;
  reason: BeatDocument['reason'];
  /** Whether there are events, or alerts that the last beat did not have. */
  hasInput: boolean;
}

/** Returns why a beat orders no turn. An empty file skips scheduled beats without events and new alerts only. */
async function findSkipReason({ bus }: BeatDeps, agent: Agent, { settings, reason, hasInput }: SkipOptions): Promise<string | undefined> {
  if (settings.prompt !== undefined) return undefined;
  const file = await readHeartbeatFile(bus.as(createHeartbeatPrincipal(agent.tenant, agent.agentId)));
  if (file === 'not_installed') return 'the workspace service is not installed, and the agent has no heartbeat prompt';
  return file === 'empty' && reason === 'interval' && !hasInput ? 'HEARTBEAT.md has no tasks' : undefined;
}

async function orderTurn(deps: BeatDeps, lease: Lease<BeatDocument>, context: Beat): Promise<Outcome<BeatDocument>> {
  const { document: beat, tenant } = lease;
  const { turnKey = '', startedAt = 0, eventIds = [] } = beat;
  if (!lease.isHeld()) return { parkUntil: deps.now() };
  let ordered: string;
  try {
    const found = await Promise.all(eventIds.map((eventId) => deps.events.for({ tenant }).get(eventId)));
    const events = found.filter((event) => event !== null);
    const turnId = await orderBeat(deps.bus, { beat: { ...beat, turnKey }, agent: context.agent, settings: context.settings, events });
    await lease.write({ set: { turnId, turnPending: true } });
    ordered = turnId;
  } catch (error) {
    if (!(error instanceof ServiceError) || lease.signal.aborted) throw error;
    const isLate = deps.now() - startedAt > context.settings.staleMs;
    if (error.retryable && !isLate) return { parkUntil: deps.now() + (error.details.retryAfterMs ?? RETRY_MS) };
    return failBeat(beat, error.message, context.settings, deps.now());
  }
  // The turn may have ended before its id was stored, so that the sweep of its wake-up did not find it.
  return collectEnd(deps, lease, { ...context, turnId: ordered });
}

/** Checks whether the turn has ended. A beat that has run for `staleMs` counts as dead. */
async function collectEnd(
  deps: BeatDeps,
  lease: Lease<BeatDocument>,
  { settings, turnId }: Beat & { turnId: string },
): Promise<Outcome<BeatDocument>> {
  const { document: beat, tenant } = lease;
  const { startedAt = 0 } = beat;
  const isStale = deps.now() - startedAt >= settings.staleMs;
  try {
    const turn = await readBeatTurn(deps.bus, tenant, turnId);
    const isOpen = turn?.state === 'queued' || turn?.state === 'running';
    if (isOpen && !isStale) return { parkUntil: nextCheck(deps.now(), startedAt, settings) };
    if (isOpen) return failBeat(beat, `the heartbeat did not end within ${settings.staleMs} ms`, settings, deps.now());
    return await finishBeat(deps, lease, { settings, turn });
  } catch (error) {
    if (!(error instanceof ServiceError) || lease.signal.aborted || !error.retryable) throw error;
    if (isStale) return failBeat(beat, error.message, settings, deps.now());
    return { parkUntil: deps.now() + RETRY_MS };
  }
}

function nextCheck(now: number, startedAt: number, { staleMs }: HeartbeatSettings): number {
  return Math.min(now + TURN_POLL_INTERVAL_MS, Math.max(startedAt + staleMs, now));
}
