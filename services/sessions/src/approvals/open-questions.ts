import type { Bus } from '@switchyard/bus';
import type { Collection } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import { LRUCache } from 'lru-cache';
import { isQuestion, type ApprovalDocument } from './approval-document.ts';

/**
 * Sessions in which an agent waits for an answer, so that other messages cost no read. A hint only: the documents of the questions decide.
 * Each replica learns of questions from their events, and reads the open ones when it starts.
 */
export interface OpenQuestions extends Disposable {
  has(tenant: string, sessionKey: string): boolean;
  /** Removes a hint that no document confirms. */
  forget(tenant: string, sessionKey: string): void;
}

export interface OpenQuestionsDeps {
  bus: Pick<Bus, 'on'>;
  approvals: Collection<ApprovalDocument>;
  now: () => number;
  log: Pick<Logger, 'warn'>;
}

/** Older hints are removed first. The users of those sessions answer with `/answer`. */
const MAX_QUESTIONS = 100_000;
const PAGE_SIZE = 200;
const MAX_PAGES = 100;

export function openQuestions({ bus, approvals, now, log }: OpenQuestionsDeps): OpenQuestions {
  const sessions = new LRUCache<string, string>({ max: MAX_QUESTIONS });
  const sessionOf = new LRUCache<string, string>({ max: MAX_QUESTIONS });
  const add = (tenant: string, { requestId, sessionKey }: Pick<ApprovalDocument, 'requestId' | 'sessionKey'>): void => {
    const name = getName(tenant, sessionKey);
    sessions.set(name, requestId);
    sessionOf.set(requestId, name);
  };
  const requested = bus.on('approval:requested', ({ payload, tenant }) => {
    if (isQuestion(payload)) add(tenant, payload);
  });
  const resolved = bus.on('approval:resolved', ({ payload: { requestId } }) => {
    const name = sessionOf.get(requestId);
    if (name === undefined) return;
    sessionOf.delete(requestId);
    if (sessions.get(name) === requestId) sessions.delete(name);
  });

  async function loadOpen(): Promise<void> {
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const options = { sort: [['dueAt', 'asc']] as [['dueAt', 'asc']], limit: PAGE_SIZE, ...(cursor === undefined ? {} : { cursor }) };
      const found = await approvals.system().find({ dueAt: { gt: now() } }, options);
      for (const request of found.items) if (isQuestion(request) && request.verdict === undefined) add(request.tenant, request);
      cursor = found.cursor;
      if (cursor === undefined) return;
    }
  }
  loadOpen().catch((err: unknown) =>
    log.warn({ err, errorKind: 'dependency', hint: 'users answer earlier questions with /answer' }, 'failed to load open questions'),
  );

  return {
    has: (tenant, sessionKey) => sessions.has(getName(tenant, sessionKey)),
    forget: (tenant, sessionKey) => void sessions.delete(getName(tenant, sessionKey)),
    [Symbol.dispose]() {
      requested.unsubscribe();
      resolved.unsubscribe();
    },
  };
}

function getName(tenant: string, sessionKey: string): string {
  return `${tenant} ${sessionKey}`;
}
