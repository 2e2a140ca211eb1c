import assert from 'node:assert/strict';
import type { ModelMessage } from '@switchyard/models';
import type { Watching } from '@switchyard/testkit';
import type { ApprovalDocument } from '../approvals/approval-document.ts';
import type { SessionDocument } from '../model/session-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import type { RunDocument } from '../subagents/run-document.ts';
import { OUTCOME_UNKNOWN } from '../tools/toolbox.ts';

/** The arguments of a call. No other call of a story has the same ones. */
export interface DelegatedCall {
  turn: string;
  call: number;
}

/** Checks approvals and sub-agents, whatever the story: calls run as approved and once, runs end once and are heard once. */
export interface DelegationJudge {
  readonly watching: Pick<Watching, 'changed'>;
  /** A call that requires an approval has its effect. */
  destroys(call: DelegatedCall): string;
  /** A model reads the results of earlier calls. */
  sees(messages: readonly ModelMessage[]): void;
  /** Throws the first violation. */
  check(): void;
  checkEnd(sessions: readonly SessionDocument[], turns: readonly TurnDocument[]): void;
  readonly seen: { approved: number; refused: number; executed: number; runs: number; announced: number };
}

const DONE = 'done';
/** Runs with these ends are not announced. */
const SILENT_ENDS = new Set(['killed', 'swept']);

export function createDelegationJudge(): DelegationJudge {
  const requests = new Map<string, ApprovalDocument>();
  const runs = new Map<string, RunDocument>();
  /** Executed calls, and how often. */
  const executed = new Map<string, number>();
  /** Calls whose outcome was reported as unknown. */
  const unknown = new Set<string>();
  /** Announcing turns by run. */
  const heard = new Map<string, Set<string>>();
  let violation: Error | undefined;

  function claim(holds: boolean, description: string): void {
    if (!holds) violation ??= new Error(description);
  }

  const describe = ({ turn, call }: DelegatedCall): string => `call ${call} of ${turn}`;
  const findRequests = (name: string): ApprovalDocument[] =>
    [...requests.values()].filter(({ params }) => describe(params as unknown as DelegatedCall) === name);

  function requestChanged(before: ApprovalDocument | undefined, after: ApprovalDocument): void {
    requests.set(after.requestId, after);
    if (before?.verdict !== undefined)
      claim(before.verdict === after.verdict && before.decidedBy === after.decidedBy, `${after.requestId} has a second verdict`);
    claim(before === undefined || JSON.stringify(before.params) === JSON.stringify(after.params), `${after.requestId} changed its call`);
  }

  function runChanged(before: RunDocument | undefined, after: RunDocument): void {
    runs.set(after.runId, after);
    if (before?.endReason === undefined) return;
    claim(before.endReason === after.endReason && before.finishedAt === after.finishedAt, `${after.runId} ended twice`);
    claim(before.turnIds.length === after.turnIds.length, `${after.runId} got a turn after its end`);
  }

  function turnInserted({ turnId, sessionKey, order, context }: TurnDocument): void {
    if (order?.origin.service !== 'sessions' || context === undefined) return;
    for (const [runId, { parentKey }] of runs) {
      if (parentKey !== sessionKey || context.text?.includes(runId) !== true) continue;
      heard.set(runId, (heard.get(runId) ?? new Set<string>()).add(turnId));
      claim(heard.get(runId)?.size === 1, `${sessionKey} heard the result of ${runId} twice`);
    }
  }

  return {
    watching: {
      changed(collection, before, after) {
        if (!after) return;
        if (collection === 'approvals') requestChanged(before as ApprovalDocument | undefined, after as unknown as ApprovalDocument);
        if (collection === 'runs') runChanged(before as RunDocument | undefined, after as unknown as RunDocument);
        if (collection === 'turns' && !before) turnInserted(after as unknown as TurnDocument);
      },
    },
    destroys(call) {
      const name = describe(call);
      executed.set(name, (executed.get(name) ?? 0) + 1);
      claim(executed.get(name) === 1, `${name} ran twice`);
      const verdicts = findRequests(name).map(({ verdict }) => verdict);
      claim(verdicts.includes('approved'), `${name} ran with the verdict ${verdicts.join() || 'of nobody'}`);
      return DONE;
    },
    sees(messages) {
      const calls = new Map(
        messages.flatMap((one) => (one.role === 'assistant' ? (one.toolCalls ?? []) : [])).map((one) => [one.callId, one]),
      );
      for (const message of messages) {
        if (message.role !== 'tool' || message.name !== 'destroy') continue;
        const name = describe(calls.get(message.callId)?.input as DelegatedCall);
        const text = JSON.stringify(message.result);
        if (message.result === DONE)
          claim(executed.get(name) === 1, `${name} was reported as done and ran ${executed.get(name) ?? 0} times`);
        else if (text.includes(OUTCOME_UNKNOWN.slice(0, 20)) || text.includes('UNAVAILABLE')) unknown.add(name);
        else claim(!executed.has(name), `${name} was reported as refused and ran: ${text}`);
      }
    },
    check() {
      if (violation) throw violation;
    },
    checkEnd(sessions, turns) {
      const endOfTurn = new Map(turns.map(({ turnId, state }) => [turnId, state]));
      for (const { requestId, verdict, params, turnId = '' } of requests.values()) {
        assert.ok(verdict !== undefined, `${requestId} has no verdict`);
        const name = describe(params as unknown as DelegatedCall);
        const count = executed.get(name) ?? 0;
        if (verdict !== 'approved' || unknown.has(name) || endOfTurn.get(turnId) !== 'done') continue;
        assert.equal(count, 1, `executions of ${name}, which was approved`);
      }
      for (const run of runs.values()) {
        assert.ok(run.endReason !== undefined, `${run.runId} did not end`);
        for (const turn of turns.filter(({ sessionKey }) => sessionKey === run.sessionKey))
          assert.ok(turn.finishedAt !== undefined, `${turn.turnId} of ${run.runId} did not end`);
        const parent = sessions.find(({ key }) => key === run.parentKey);
        const isHeard = parent?.epoch === run.parentEpoch && run.parentRunId === undefined && !SILENT_ENDS.has(run.endReason);
        if (isHeard) assert.equal(heard.get(run.runId)?.size ?? 0, 1, `announcements of ${run.runId} to ${run.parentKey}`);
      }
      this.check();
    },
    get seen() {
      const verdicts = [...requests.values()].map(({ verdict }) => verdict);
      const approved = verdicts.filter((verdict) => verdict === 'approved').length;
      return { approved, refused: verdicts.length - approved, executed: executed.size, runs: runs.size, announced: heard.size };
    },
  };
}
