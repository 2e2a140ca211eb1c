import { ServiceError } from '@switchyard/contracts';
import type { ModelRef } from '@switchyard/models';
import type { Call } from '../../budgets/budgets.ts';
import { notInForce, parseMessage } from '../../commands/command-parser.ts';
import { carryOut } from '../../commands/command-execution.ts';
import type { Effect, SessionDocument } from '../../model/session-document.ts';
import { type Heard, type TurnDocument, hasEnded } from '../../model/turn-document.ts';
import { lookAtTurn, type LookingAtTurn } from './turn-screening.ts';
import { noSuchSession, sees } from '../../model/session-ownership.ts';
import { asAgent } from '../../agents/model-access.ts';
import { keep, textOf } from '../../model/stored-text.ts';
import { createWitness, type Witness } from '../../agent-loop/turn-trace.ts';
import { isTrigger, startAnew } from './auto-reset.ts';
import { toFailure } from '../store/turn-failure.ts';
import { requireFollowing } from './auto-continue.ts';
import { acceptedFrame } from '../../frames/frame-publisher.ts';
import { hearing } from './turn-merging.ts';
import type { Mark } from '../../model/checkpoint-log.ts';
import { logFailedTurn } from '../store/turn-failure-log.ts';
import { runTurn } from '../../agent-loop/agent-loop.ts';
import { planTurn } from '../../agent-loop/turn-planner.ts';
import { modelFor } from '../../agents/agent-model.ts';
import { openRecord, type Record } from './turn-recorder.ts';
import { createReminding, type Reminding } from './memory-injection.ts';
import type { Ended, RunDeps, RunGiven } from './turn-run.ts';
import type { TurnOutcome } from '../../agent-loop/turn-plan.ts';
import { commitAnswer, commitFailure, endedMeanwhile, fenced, isFenced, wasEnded } from '../store/turn-store.ts';

/**
 * Runs a turn to its end. Frames inform readers; the guarded writes decide. Returns undefined if another replica continues the turn or has
 * ended it.
 */
export async function runDurable(deps: RunDeps, given: RunGiven): Promise<Ended | undefined> {
  const record = openRecord(deps, given);
  const witness = createWitness({ now: () => deps.clock.now(), before: given.from.steps, sep: given.agent.config.sep });
  try {
    const looking = lookAtTurn(deps, given, { witness, warn: (warning) => reminding.warn(warning) });
    const reminding = createReminding(deps.memories, given, { witness, reinforce: looking.before });
    const outcome = await play(deps, given, { record, reminding, witness, looking }).finally(record.close);
    const found = deps.remembering && !outcome.effect ? reminding.captured(outcome, deps.bodies.for(given.hold)) : [];
    const captured = Array.isArray(found) ? found : await given.hold.persist(() => found);
    const evidence = outcome.effect ? undefined : JSON.stringify(witness.evidence(outcome.model, outcome));
    const ended = await commit(deps, given, { ...outcome, warnings: reminding.warnings, remember: captured.length > 0, evidence });
    if (captured.length > 0) deps.remembering?.tell(given.principal, given.turn.turnId, captured);
    return ended;
  } catch (error) {
    return await fail(deps, { ...given, evidence: JSON.stringify(witness.evidence(given.model)) }, error);
  }
}

async function commit(
  deps: RunDeps,
  given: RunGiven,
  outcome: Played & Pick<Reminding, 'warnings'> & { remember: boolean; evidence: string | undefined },
): Promise<Ended> {
  const { hold, turn, frames } = given;
  const { result, spent, steps, warnings, remember, evidence, effect } = outcome;
  const lastFrame = frames.last();
  const { lastSeq, epoch } = hold.session;
  const followed = result.finishReason === 'context_exhausted' && deps.followUps.wanted(turn);
  // Retried, so that a short database outage does not lose the answer.
  const done = await hold.persist(async () => {
    const answer = await keep(deps.bodies.for(hold), turn.turnId, result.response);
    const ending = { turn, fence: hold.fence, lastFrame, now: deps.store.now(), evidence };
    return (
      (await commitAnswer(deps.turns.for(hold), ending, {
        result,
        answer,
        costUsd: spent.costUsd,
        steps,
        lastSeq,
        epoch,
        warnings,
        remember,
        followed,
        effect,
      })) ?? endedHere(deps, given, 'done')
    );
  });
  const frame = { type: 'done', result } as const;
  return { turn: done, end: { result }, frame, ...(effect ? {} : { outcome }) };
}

/** Reads the end after a miss: the write was applied before and only its reply was lost. */
async function endedHere(deps: RunDeps, { hold, turn }: RunGiven, state: 'done' | 'failed'): Promise<TurnDocument> {
  const there = await deps.turns.for(hold).get(turn.turnId);
  if (there?.state === 'cancelled') throw endedMeanwhile();
  if (!there || !hasEnded(there) || there.fence !== hold.fence || (there.state === 'done') !== (state === 'done')) throw fenced();
  return there;
}

interface Witnessed {
  /** Trace up to the failure. */
  evidence?: string;
}

/** An aborted turn fails with the reason of the abort, whatever error it caused. */
async function fail(deps: RunDeps, given: RunGiven & Witnessed, error: unknown): Promise<Ended | undefined> {
  const { turn, signal } = given;
  const cause: unknown = signal.aborted && signal.reason instanceof ServiceError ? signal.reason : error;
  try {
    if (isFenced(cause)) throw cause;
    return await endFailed(deps, given, cause);
  } catch (refused) {
    if (!isFenced(refused)) throw refused;
    if (wasEnded(refused)) return undefined;
    deps.log.warn({ turnId: turn.turnId, errorKind: 'internal', hint: 'somebody else goes on with the turn' }, 'turn fenced');
    return undefined;
  }
}

/** Ends a turn without an answer, whether it ran or not. */
export async function endFailed(
  deps: RunDeps,
  given: Pick<RunGiven, 'hold' | 'turn' | 'frames'> & Partial<RunGiven> & Witnessed,
  cause: unknown,
): Promise<Ended> {
  const { hold, turn, frames, evidence } = given;
  const lastFrame = frames.last();
  const failed = await hold.persist(async () => {
    const there = await deps.turns.for(hold).get(turn.turnId);
    const failure = toFailure(cause, there ?? turn);
    const ending = { turn, fence: hold.fence, lastFrame, now: deps.store.now(), evidence };
    return (await commitFailure(deps.turns.for(hold), ending, failure)) ?? endedHere(deps, given as RunGiven, 'failed');
  });
  logFailedTurn(deps.log, hold.tenant, { turn: failed, error: cause });
  const failure = failed.failure ?? toFailure(cause, failed);
  return { turn: failed, end: { failure }, frame: { type: 'error', error: failure } };
}

/** Retried while the model registry is unavailable: an accepted turn does not fail because of that. */
function stillModelOf({ models }: RunDeps, { agent, turn, signal }: RunGiven): Promise<ModelRef> {
  signal.throwIfAborted();
  return modelFor(agent, models, turn.model);
}

/** Outcome of the turn, and the effect of a command. */
type Played = TurnOutcome & { effect?: Effect };

interface Playing {
  record: Record;
  reminding: Reminding;
  witness: Witness;
  looking: LookingAtTurn;
}

async function play(deps: RunDeps, given: RunGiven, { record, reminding, witness, looking }: Playing): Promise<Played> {
  const { hold, turn, agent, principal, frames, signal, from, traceparent, left } = given;
  // A client that is restricted to its own sessions may have lost this one since acceptance.
  if (!sees(turn, hold.session)) throw noSuchSession();
  await startAnew(deps, given);
  if (turn.follows)
    await hold.persist(() => requireFollowing(deps.turns.for(hold), { turn, session: hold.session, suspended: agent.suspended }));
  const usual = given.model ?? (await hold.persist(() => stillModelOf(deps, given)));
  const model = turn.model === undefined ? await preferred(deps, hold.session, usual) : usual;
  // The acceptor may have died before announcing the turn.
  if (frames.next() === 0) frames.push(acceptedFrame(turn, model));
  const bodies = deps.bodies.for(hold);
  const said = await textOf(bodies, turn.turnId, turn.message);
  const parsed = isTrigger(given, said) ? parseMessage('/reset') : parseMessage(said);
  if (parsed?.command) return carryOut(deps, given, { model, command: parsed.command });
  const directed = parsed?.directed;
  for (const name of directed?.without ?? []) reminding.warn(notInForce(name));
  const reading = {
    tools: deps.tools,
    turns: deps.turns.for(hold),
    bodies,
    summaries: deps.summaries,
    models: deps.models,
    recall: deps.recall,
    beginnings: deps.beginnings,
    remind: reminding.remind,
    witness,
    documentation: deps.documentation,
  };
  const text = directed?.text ?? said;
  const preparing = deps.compaction.prepare(hold.tenant, hold.session, { signal, left });
  const prepared = preparing && (await preparing);
  // A session written under another lease is not used.
  if (prepared?.fence === hold.fence) hold.session = prepared;
  const plan = await planTurn(reading, { turn, hold, agent, model, principal, traceparent, left, text, from });
  signal.throwIfAborted();
  const cap = directed?.budget ?? hold.session.prefers?.budget ?? Infinity;
  const maxTokens = Math.min(plan.maxTokens, cap);
  const own = deps.budgets?.of(principal, agent);
  // Retried, because an accepted turn does not fail during a short database outage.
  const budget = own && { reserve: (call: Call) => own.reserveNow(call) ?? hold.persist(() => own.reserve(call)) };
  const note = (mark: Mark): Promise<void> => {
    witness.noted(mark);
    return record.note(mark);
  };
  const joining = async (others: readonly Heard[]): Promise<void> => {
    await record.join(others);
    reminding.joined(others);
  };
  const hear = hearing(deps, given, { join: joining });
  const heard = async (step: number): Promise<readonly string[]> => looking.heard(await hear(step));
  const tell = (text: string): void => {
    witness.spoke(text);
    record.heard(text);
    frames.push({ type: 'delta', text });
  };
  const told = { note, hear: heard, tell, warn: reminding.warn, found: looking.found };
  const running = runTurn(asAgent(deps, hold.tenant, agent), { ...plan, ...told, maxTokens, budget, signal, from });
  for (;;) {
    const frame = await running.next();
    if (frame.done) return maxTokens === cap ? usedUp(frame.value) : frame.value;
    witness.seen(frame.value);
    frames.push(frame.value);
  }
}

/** Returns the model chosen for the session, if it still exists. */
async function preferred({ models }: RunDeps, { prefers }: SessionDocument, usual: ModelRef): Promise<ModelRef> {
  return (prefers?.model === undefined ? undefined : await models.find(prefers.model)) ?? usual;
}

/** A budget that was set for this turn has a finish reason of its own. */
function usedUp(outcome: TurnOutcome): TurnOutcome {
  const { result } = outcome;
  return result.finishReason === 'budget_exceeded' ? { ...outcome, result: { ...result, finishReason: 'budget_exhausted' } } : outcome;
}
