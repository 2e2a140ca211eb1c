import { ServiceError, type TurnUsage } from '@switchyard/contracts';
import type { ModelRef } from '@switchyard/models';
import type { Call } from '../../budgets/budgets.ts';
import { notInForce, parseMessage } from '../../commands/command-parser.ts';
import { answerWithText, carryOut } from '../../commands/command-execution.ts';
import type { Effect, SessionDocument } from '../../model/session-document.ts';
import { type MergedMessage, type TurnDocument, hasEnded } from '../../model/turn-document.ts';
import { createTurnScreening, type TurnScreening } from './turn-screening.ts';
import { sessionNotFound, canSee } from '../../model/session-ownership.ts';
import { accessModels } from '../../agents/model-access.ts';
import { storeText, loadText } from '../../model/stored-text.ts';
import { createTurnTracer, type TurnTracer } from '../../agent-loop/turn-trace.ts';
import { isResetTrigger, resetIfExpired } from './auto-reset.ts';
import { toFailure } from '../store/turn-failure.ts';
import { requireContinuable } from './auto-continue.ts';
import { acceptedFrame } from '../../frames/frame-publisher.ts';
import { createMerger } from './turn-merging.ts';
import type { CheckpointEntry } from '../../model/checkpoint-log.ts';
import { logFailedTurn } from '../store/turn-failure-log.ts';
import { retryDuringOutages } from '../../agent-loop/outage-retries.ts';
import { runAgentLoop } from '../../agent-loop/agent-loop.ts';
import { isForeign } from '../../screening/untrusted-message.ts';
import { createTurnTaint } from '../../screening/untrusted-results.ts';
import { TurnParkedError } from '../../approvals/turn-parked.ts';
import { planTurn } from '../../agent-loop/turn-planner.ts';
import { getTurnModel } from '../../agents/agent-model.ts';
import { createUsageMeter, type MeteredCall, type UsageMeter } from './usage-meter.ts';
import { createTurnRecorder, type TurnRecorder } from './turn-recorder.ts';
import { invokeSkill, mayInvokeSkill } from './skill-invocation.ts';
import { createMemoryInjection, type MemoryInjection } from './memory-injection.ts';
import type { EndedTurn, TurnRunDeps, TurnRun } from './turn-run.ts';
import type { TurnOutcome } from '../../agent-loop/turn-plan.ts';
import { commitAnswer, commitFailure, turnEndedElsewhere, turnTakenOver, isFenced, isEndedElsewhere } from '../store/turn-store.ts';

/**
 * Runs a turn to its end. Frames inform readers; the guarded writes decide. Returns undefined if another replica continues the turn or has
 * ended it.
 */
export async function executeTurn(deps: TurnRunDeps, options: TurnRun): Promise<EndedTurn | undefined> {
  const recorder = createTurnRecorder(deps, options);
  const meter = createUsageMeter(options.turn, options.resumeFrom);
  const tracer = createTurnTracer({
    now: () => deps.clock.now(),
    earlierSteps: options.resumeFrom.steps,
    earlierUsage: options.resumeFrom.spent,
    pendingCalls: options.resumeFrom.pendingCalls,
    sep: options.agent.config.sep,
  });
  try {
    const screening = createTurnScreening(deps, options, { witness: tracer, warn: (warning) => memory.warn(warning) });
    const memory = createMemoryInjection(deps.memories, options, { witness: tracer, reinforce: screening.screenMessage });
    const outcome = await execute(deps, options, {
      record: recorder,
      reminding: memory,
      witness: tracer,
      looking: screening,
      meter,
    }).finally(recorder.close);
    const found = deps.memoryCapture && !outcome.effect ? memory.collectCaptured(outcome, deps.bodies.for(options.lease)) : [];
    const captured = Array.isArray(found) ? found : await options.lease.retryWrite(() => found);
    const trace = outcome.effect ? undefined : JSON.stringify(tracer.build(outcome.model, outcome));
    const ended = await commitOutcome(deps, options, {
      ...outcome,
      warnings: memory.warnings,
      remember: captured.length > 0,
      trace,
      usage: meter.read(),
    });
    if (captured.length > 0) deps.memoryCapture?.publish(options.principal, options.turn.turnId, captured);
    return ended;
  } catch (error) {
    return await failTurn(
      deps,
      { ...options, trace: JSON.stringify(tracer.build(options.model)), usage: meter.read(), steps: meter.steps },
      error,
    );
  }
}

async function commitOutcome(
  deps: TurnRunDeps,
  options: TurnRun,
  outcome: ExecutedTurn & Pick<MemoryInjection, 'warnings'> & { remember: boolean; trace: string | undefined; usage: TurnUsage },
): Promise<EndedTurn> {
  const { lease, turn, frames } = options;
  const { result, spent, steps, warnings, remember, trace, usage, effect, isTainted = false } = outcome;
  const lastFrame = frames.last();
  const { lastSeq, epoch } = lease.session;
  const followed = result.finishReason === 'context_exhausted' && deps.autoContinue.canContinue(turn);
  // Retried, so that a short database outage does not lose the answer.
  const done = await lease.retryWrite(async () => {
    const answer = await storeText(deps.bodies.for(lease), turn.turnId, result.response);
    const ending = { turn, fence: lease.fence, lastFrame, now: deps.store.now(), trace, usage };
    return (
      (await commitAnswer(deps.turns.for(lease), ending, {
        result,
        answer,
        costUsd: spent.costUsd,
        steps,
        lastSeq,
        epoch,
        warnings,
        captureMemory: remember,
        autoContinue: followed,
        effect,
        isTainted,
      })) ?? loadOwnEnd(deps, options, 'done')
    );
  });
  const frame = { type: 'done', result } as const;
  return { turn: done, end: { result }, frame, ...(effect ? {} : { outcome }) };
}

/** Reads the end after a miss: the write was applied before and only its reply was lost. */
async function loadOwnEnd(deps: TurnRunDeps, { lease, turn }: TurnRun, state: 'done' | 'failed'): Promise<TurnDocument> {
  const existing = await deps.turns.for(lease).get(turn.turnId);
  if (existing?.state === 'cancelled') throw turnEndedElsewhere();
  if (!existing || !hasEnded(existing) || existing.fence !== lease.fence || (existing.state === 'done') !== (state === 'done'))
    throw turnTakenOver();
  return existing;
}

interface TraceField {
  /** Trace up to the failure. */
  trace?: string;
  /** Usage up to the failure. */
  usage?: TurnUsage;
  /** Model steps up to the failure. */
  steps?: number;
}

/** An aborted turn fails with the reason of the abort, whatever error it caused. */
async function failTurn(deps: TurnRunDeps, options: TurnRun & TraceField, error: unknown): Promise<EndedTurn | undefined> {
  const { turn, signal } = options;
  const cause: unknown = signal.aborted && signal.reason instanceof ServiceError ? signal.reason : error;
  try {
    if (cause instanceof TurnParkedError) return undefined;
    if (isFenced(cause)) throw cause;
    return await endFailed(deps, options, cause);
  } catch (refused) {
    if (!isFenced(refused)) throw refused;
    if (isEndedElsewhere(refused)) return undefined;
    deps.log.warn({ turnId: turn.turnId, errorKind: 'internal', hint: 'another replica continues the turn' }, 'turn fenced');
    return undefined;
  }
}

/** Ends a turn without an answer, whether it ran or not. */
export async function endFailed(
  deps: TurnRunDeps,
  options: Pick<TurnRun, 'lease' | 'turn' | 'frames'> & Partial<TurnRun> & TraceField,
  cause: unknown,
): Promise<EndedTurn> {
  const { lease, turn, frames, trace, usage, steps } = options;
  const lastFrame = frames.last();
  const failed = await lease.retryWrite(async () => {
    const existing = await deps.turns.for(lease).get(turn.turnId);
    const failure = toFailure(cause, existing ?? turn);
    const ending = { turn, fence: lease.fence, lastFrame, now: deps.store.now(), trace, usage, steps };
    return (await commitFailure(deps.turns.for(lease), ending, failure)) ?? loadOwnEnd(deps, options as TurnRun, 'failed');
  });
  logFailedTurn(deps.log, lease.tenant, { turn: failed, error: cause });
  const failure = failed.failure ?? toFailure(cause, failed);
  return { turn: failed, end: { failure }, frame: { type: 'error', error: failure } };
}

/** Retried while the model registry is unavailable: an accepted turn does not fail because of that. */
function resolveModel({ models }: TurnRunDeps, { agent, turn, signal }: TurnRun): Promise<ModelRef> {
  signal.throwIfAborted();
  return getTurnModel(agent, models, turn.model);
}

/** Outcome of the turn, the effect of a command, and whether its prompt contained text from outside. */
type ExecutedTurn = TurnOutcome & { effect?: Effect; isTainted?: boolean };

interface ExecutionParts {
  record: TurnRecorder;
  reminding: MemoryInjection;
  witness: TurnTracer;
  looking: TurnScreening;
  meter: UsageMeter;
}

async function execute(
  deps: TurnRunDeps,
  options: TurnRun,
  { record, reminding, witness, looking, meter }: ExecutionParts,
): Promise<ExecutedTurn> {
  const { lease, turn, agent, principal, frames, signal, resumeFrom, traceparent, remainingMs } = options;
  // A client that is restricted to its own sessions may have lost this one since acceptance.
  if (!canSee(turn, lease.session)) throw sessionNotFound();
  await resetIfExpired(deps, options);
  if (turn.continuationOf)
    await lease.retryWrite(() => requireContinuable(deps.turns.for(lease), { turn, session: lease.session, suspended: agent.suspended }));
  const usual = options.model ?? (await lease.retryWrite(() => resolveModel(deps, options)));
  const model = turn.model === undefined ? await resolvePreferredModel(deps, lease.session, usual) : usual;
  // The acceptor may have died before announcing the turn.
  if (frames.next() === 0) frames.push(acceptedFrame(turn, model));
  const bodies = deps.bodies.for(lease);
  const content = await loadText(bodies, turn.turnId, turn.message);
  const parsed = isResetTrigger(options, content) ? parseMessage('/reset') : parseMessage(content);
  if (parsed?.command) return carryOut(deps, { agent, frames, signal, hold: lease }, { model, command: parsed.command });
  const directed = parsed?.directed;
  const invoked =
    directed?.skill !== undefined && mayInvokeSkill(turn)
      ? await invokeSkill(deps, options, { name: directed.skill, args: directed.text, checkpoint: record.checkpoint })
      : undefined;
  if (invoked?.refusal !== undefined) return answerWithText(options, model, { text: invoked.refusal });
  for (const name of directed?.without ?? []) reminding.warn(notInForce(name));
  const taint = createTurnTaint(isForeign(turn.sessionKey) || resumeFrom.hasUntrustedResults);
  const reading = {
    tools: deps.tools,
    turns: deps.turns.for(lease),
    bodies,
    summaries: deps.summaries,
    models: deps.models,
    recall: deps.recall,
    beginnings: deps.beginnings,
    // The user asks with the message, and not with the instructions of a skill.
    loadMemory: (question: string) => reminding.loadMemory(invoked ? content : question, taint),
    tracer: witness,
    documentation: deps.documentation,
    gate: deps.gate?.forTurn(principal, {
      turn,
      epoch: lease.session.epoch,
      screening: { taint, onSuspicious: looking.recordResult },
    }),
    taint,
  };
  const text = invoked?.prompt ?? (directed?.skill === undefined ? (directed?.text ?? content) : content);
  const planned = invoked ? { ...resumeFrom, skillLimits: invoked.skillLimits } : resumeFrom;
  const preparing = deps.compaction.prepare(lease.tenant, lease.session, { signal, left: remainingMs });
  const prepared = preparing && (await preparing);
  // A session written under another lease is not used.
  if (prepared?.fence === lease.fence) lease.session = prepared;
  const plan = await planTurn(reading, { turn, lease, agent, model, principal, traceparent, remainingMs, text, resumeFrom: planned });
  signal.throwIfAborted();
  const cap = directed?.budget ?? lease.session.preferences?.budget ?? Infinity;
  const limits = turn.order?.limits ?? {};
  const maxTokens = Math.min(plan.maxTokens, cap, limits.tokens ?? Infinity);
  const maxSteps = Math.min(plan.maxSteps, limits.steps ?? Infinity);
  const maxCostUsd = Math.min(plan.maxCostUsd ?? Infinity, limits.costUsd ?? Infinity);
  const own = deps.budgets?.of(principal, agent);
  // Retried, because an accepted turn does not fail during a short database outage.
  const budget = own && { reserve: (call: Call) => own.reserveNow(call) ?? lease.retryWrite(() => own.reserve(call)) };
  const note = (mark: CheckpointEntry): Promise<void> => {
    witness.recordCheckpoint(mark);
    return record.checkpoint(mark);
  };
  const joining = async (others: readonly MergedMessage[]): Promise<void> => {
    await record.recordMerged(others);
    reminding.addMerged(others);
  };
  const onMessage = createMerger(deps, options, { recordMerged: joining });
  const merged = async (step: number): Promise<readonly string[]> => looking.screenMerged(await onMessage(step));
  const notify = (text: string): void => {
    witness.recordText(text);
    record.appendText(text);
    frames.push({ type: 'delta', text });
  };
  const callbacks = {
    onCheckpoint: note,
    takeMerged: merged,
    onText: notify,
    onWarning: reminding.warn,
    onFinding: looking.recordFinding,
    onModelCall(requested: ModelRef, reply: MeteredCall | undefined): void {
      meter.record(requested, reply);
      witness.recordModelCall(requested, reply);
    },
    onBudget: witness.recordBudget,
    onWindow: witness.recordWindow,
    startLayer: witness.startLayer,
  };
  const models = retryDuringOutages(accessModels(deps, principal, agent), {
    clock: deps.clock,
    signal,
    remainingMs,
    onRetry(error, pauseMs) {
      witness.recordRetry();
      const hint = 'the turn waits until its deadline';
      const fields = { turnId: turn.turnId, err: error, pauseMs, errorKind: 'dependency', hint };
      deps.log.warn(fields, 'a dependency is away; calling the model again');
    },
  });
  const running = runAgentLoop(models, {
    ...plan,
    ...callbacks,
    maxSteps,
    maxTokens,
    maxCostUsd,
    budget,
    signal,
    resumeFrom,
  });
  for (;;) {
    const frame = await running.next();
    if (frame.done) return { ...(maxTokens === cap ? markBudgetExhausted(frame.value) : frame.value), isTainted: taint.isTainted };
    witness.recordFrame(frame.value);
    meter.recordFrame(frame.value);
    frames.push(frame.value);
  }
}

/** Returns the model chosen for the session, if it still exists. */
async function resolvePreferredModel({ models }: TurnRunDeps, { preferences }: SessionDocument, usual: ModelRef): Promise<ModelRef> {
  return (preferences?.model === undefined ? undefined : await models.find(preferences.model)) ?? usual;
}

/** A budget that was set for this turn has a finish reason of its own. */
function markBudgetExhausted(outcome: TurnOutcome): TurnOutcome {
  const { result } = outcome;
  return result.finishReason === 'budget_exceeded' ? { ...outcome, result: { ...result, finishReason: 'budget_exhausted' } } : outcome;
}
