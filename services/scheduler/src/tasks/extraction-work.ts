import { createHash } from 'node:crypto';
import type { Bus } from '@switchyard/bus';
import { ServiceError, type Principal, type Sections } from '@switchyard/contracts';
import type { AgentDirectory } from '@switchyard/service-kit';
import { inserted, type Collection } from '@switchyard/store';
import { createWork, newWork, type Lease, type Outcome, type Work } from '@switchyard/work';
import type { EventDocument } from '../heartbeat/beat-document.ts';
import { addEvent } from '../wake/wake-agents.ts';
import type { ExtractionDocument, TaskDocument } from './task-document.ts';
import { EXTRACTION_PROMPT, readTasks } from './task-reply.ts';

const MAX_CONCURRENT_EXTRACTIONS = 8;
const MAX_ATTEMPTS = 5;
const RETRY_MS = 2_000;
/** An extraction that could not be ordered for this long has failed. */
const ORDER_TIMEOUT_MS = 600_000;
const TURN_POLL_INTERVAL_MS = 15_000;
const DEFAULT_TIMEOUT_MS = 30_000;
const MESSAGE_CHARS = 16_384;
const ID_DIGITS = 22;

export interface ExtractionDeps {
  extractions: Collection<ExtractionDocument>;
  tasks: Collection<TaskDocument>;
  events: Collection<EventDocument>;
  agents: Pick<AgentDirectory, 'find'>;
  bus: Bus;
  owner: string;
  now: () => number;
  settings: () => Sections['scheduler']['tasks'];
  log: { warn(fields: object, message: string): void };
}

/** The principal of all extractions of a tenant. With an agent it may use this agent only. */
export function createExtractionPrincipal(tenant: string, agentId?: string): Principal {
  const own = agentId === undefined ? {} : { agents: [agentId] };
  return { tenant, client: 'scheduler/tasks', scopes: ['rpc'], ...own };
}

export function newExtraction(
  turn: Pick<ExtractionDocument, 'sourceTurnId' | 'sessionKey' | 'agentId'>,
  createdAt: number,
): ExtractionDocument {
  return { ...newWork(), ...turn, createdAt };
}

/** Lets a model find follow-up tasks in the conversation of a turn. The tasks are stored, published, and read by the next heartbeat. */
export function createExtractionWork(deps: ExtractionDeps): Work<ExtractionDocument> {
  const { extractions, owner, now, log } = deps;
  return createWork<ExtractionDocument>({
    documents: extractions,
    owner,
    now,
    log,
    capacity: () => MAX_CONCURRENT_EXTRACTIONS,
    run: (lease) => (lease.document.turnId === undefined ? orderTurn(deps, lease) : collectEnd(deps, lease, lease.document.turnId)),
    poison: { maxAttempts: MAX_ATTEMPTS, outcome: () => fail(now(), 'the extraction failed too often; see the log') },
  });
}

function fail(finishedAt: number, error: string): Outcome<ExtractionDocument> {
  return { end: 'failed', set: { finishedAt, turnPending: undefined, error } };
}

async function orderTurn(deps: ExtractionDeps, lease: Lease<ExtractionDocument>): Promise<Outcome<ExtractionDocument>> {
  const { document, tenant } = lease;
  if (!lease.isHeld()) return { parkUntil: deps.now() };
  let turnId: string;
  try {
    const bus = deps.bus.as(createExtractionPrincipal(tenant, document.agentId));
    const { message, response, messageIndex } = await bus.call('turns.exchange', { turnId: document.sourceTurnId });
    const text = `user: ${message.slice(0, MESSAGE_CHARS)}\n\nassistant: ${response.slice(0, MESSAGE_CHARS)}`;
    turnId = await sendOrder(bus, document, {
      text,
      operation: deps.agents.find(tenant, document.agentId)?.config.operationModels.taskExtraction,
    });
    await lease.write({ set: { turnId, turnPending: true, messageIndex } });
  } catch (error) {
    if (!(error instanceof ServiceError) || lease.signal.aborted) throw error;
    const late = deps.now() - document.createdAt > ORDER_TIMEOUT_MS;
    if (error.retryable && !late) return { parkUntil: deps.now() + (error.details.retryAfterMs ?? RETRY_MS) };
    return fail(deps.now(), error.message);
  }
  return collectEnd(deps, lease, turnId);
}

interface OrderOptions {
  text: string;
  operation: { model?: string | undefined; timeout?: number | undefined } | undefined;
}

async function sendOrder(bus: Bus, { sourceTurnId, agentId }: ExtractionDocument, { text, operation }: OrderOptions): Promise<string> {
  try {
    const { turnId } = await bus.call('turns.order', {
      message: EXTRACTION_PROMPT,
      agentId,
      session: { userId: `cron:tasks:${agentId}`, agentId },
      idempotencyKey: `extraction:${sourceTurnId}`,
      kind: 'extraction',
      origin: { service: 'scheduler', ref: sourceTurnId },
      history: { mode: 'fresh' },
      tools: { profile: 'minimal', deny: ['*'] },
      limits: { steps: 1 },
      context: [{ title: 'Conversation', text }],
      timeoutMs: operation?.timeout ?? DEFAULT_TIMEOUT_MS,
      ...(operation?.model === undefined ? {} : { model: operation.model }),
    });
    return turnId;
  } catch (error) {
    // The model of extractions was changed after an earlier order.
    const { reason, turnId } = error instanceof ServiceError ? error.details : {};
    if (reason === 'IDEMPOTENCY_MISMATCH' && turnId !== undefined) return turnId;
    throw error;
  }
}

async function collectEnd(deps: ExtractionDeps, lease: Lease<ExtractionDocument>, turnId: string): Promise<Outcome<ExtractionDocument>> {
  const { document, tenant } = lease;
  const { turns } = await deps.bus.as(createExtractionPrincipal(tenant)).call('turns.ends', { turnIds: [turnId] });
  const [turn] = turns;
  if (turn?.state === 'queued' || turn?.state === 'running') return { parkUntil: deps.now() + TURN_POLL_INTERVAL_MS };
  if (turn?.state !== 'done') return fail(deps.now(), turn?.failure?.message ?? 'the turn of this extraction did not end');
  const found = readTasks(turn.result?.response ?? '', deps.settings().confidenceThreshold);
  const { sessionKey, agentId, messageIndex = 0 } = document;
  for (const facts of found) {
    const source = { sessionKey, messageIndex, extractedAt: deps.now() };
    const id = createTaskId(sessionKey, facts.title);
    await storeTask(deps, tenant, { ...facts, id, agentId, source, status: 'pending', createdAt: deps.now() });
  }
  return { end: 'done', set: { finishedAt: deps.now(), turnPending: undefined } };
}

/** Returns the id of a task. A task that a conversation mentions again is the same one. */
function createTaskId(sessionKey: string, title: string): string {
  const digest = createHash('sha256').update(`${sessionKey} ${title.toLowerCase()}`).digest('hex');
  return `task_${digest.slice(0, ID_DIGITS)}`;
}

/** Stores and publishes a task, once. The next heartbeat of the agent reads it. */
async function storeTask({ tasks, events, now }: ExtractionDeps, tenant: string, task: TaskDocument): Promise<void> {
  const { agentId, ...extracted } = task;
  const emit = [{ name: 'scheduler:task_extracted', payload: { agentId, task: extracted, timestamp: now() } }];
  await inserted(() => tasks.for({ tenant }).insert(task, { emit }));
  const due = task.dueDate === undefined ? '' : `, due ${task.dueDate}`;
  const text = `${task.title} (priority ${task.priority}${due})\n${task.description}`;
  await addEvent({ events, now }, { tenant, agentId, key: `task:${task.id}`, source: 'task extraction', text });
}
