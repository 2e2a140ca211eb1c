import type { Bus, Handlers } from '@switchyard/bus';
import {
  registry,
  ServiceError,
  subjects,
  type sessions,
  type Input,
  type Principal,
  type Result,
  type TurnFailure,
  type TurnFrame,
} from '@switchyard/contracts';
import { SECRETS, startTestGateway, type TestGateway, type TestGatewayOptions } from '../gateway.fixture.ts';

type Bodies<F> = F extends TurnFrame ? Omit<F, 'n'> : never;
/** A frame without a number. */
export type FrameBody = Bodies<TurnFrame>;

export const RESULT = { response: 'one two three', tokensUsed: { input: 3, output: 4, total: 7 }, finishReason: 'stop' } as const;

/** A durable turn whose frames are controlled by the test. */
export interface TestTurn {
  id: string;
  params: Input<'turns.start'>;
  principal: Principal;
  status: Result<'turns.resume'>;
  /** Numbers and publishes a frame. The final frame ends the turn. */
  emit(body: FrameBody): void;
  sendText(...texts: string[]): void;
  done(): void;
  fail(error: TurnFailure): void;
  /** Skips a frame, which is never delivered. */
  skipFrame(): void;
}

export interface TestTurns {
  gateway: TestGateway;
  /** All started turns, oldest first. */
  started: TestTurn[];
  /** Resolves to the next started turn. */
  next(): Promise<TestTurn>;
  /** Adds a turn without frames. */
  addStoredTurn(status: Result<'turns.resume'>, client?: string): void;
  stream(query: string, headers?: Record<string, string>): Promise<Response>;
}

/** A gateway and a sessions service that runs `script` for each turn before it accepts the turn. */
export async function startTestTurns(script: (turn: TestTurn) => void = () => undefined, options: TestGatewayOptions = {}) {
  const started: TestTurn[] = [];
  const waiters: ((turn: TestTurn) => void)[] = [];
  const statuses = new Map<string, { status: Result<'turns.resume'>; client: string }>();
  const keys = new Map<string, TestTurn>();
  const handlers: Handlers<typeof sessions> = {
    'turns.start': (params, { principal }) => {
      const existing = started.find(({ id }) => id === params.turnId);
      if (existing && existing.principal.client !== principal.client) throw new ServiceError('ALREADY_EXISTS', 'There is one already.');
      const earlier = existing ?? (params.idempotencyKey === undefined ? undefined : keys.get(params.idempotencyKey));
      if (earlier) return earlier.status;
      const turn = createTurn(gateway.bus, params, principal);
      started.push(turn);
      statuses.set(turn.id, { status: turn.status, client: principal.client });
      if (params.idempotencyKey !== undefined) keys.set(params.idempotencyKey, turn);
      turn.emit({ type: 'accepted', turnId: turn.id, agentId: 'default', model: 'dev/echo' });
      script(turn);
      waiters.shift()?.(turn);
      return turn.status;
    },
    'turns.resume': ({ turnId }, { principal }) => {
      const turn = statuses.get(turnId);
      if (turn?.client !== principal.client) throw new ServiceError('NOT_FOUND', 'There is no such turn.');
      return turn.status;
    },
    ...options.handlers,
  };
  const gateway = await startTestGateway({ ...options, handlers });
  await gateway.bus.serve(registry, { 'models.visible': () => ({ models: VISIBLE }) }, { version: '0.0.0' });
  const turns: TestTurns & AsyncDisposable = {
    gateway,
    started,
    next: () => new Promise((resolve) => void waiters.push(resolve)),
    addStoredTurn: (status, client = 'rpc') => void statuses.set(status.turnId, { status, client }),
    stream: (query, headers = {}) =>
      fetch(`${gateway.url}/api/chat/stream?${query}`, { headers: { authorization: `Bearer ${SECRETS.rpc}`, ...headers } }),
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
  return turns;
}

const VISIBLE = [
  { id: 'default', ownedBy: 'switchyard' },
  { id: 'dev/echo', ownedBy: 'dev' },
];

function createTurn(bus: Bus, params: Input<'turns.start'>, principal: Principal): TestTurn {
  const status: Result<'turns.resume'> = { turnId: params.turnId, sessionKey: 'default:rpc:gateway', state: 'running' };
  let n = 0;
  const emit = (body: FrameBody): void => {
    bus.publish(subjects.turn(params.turnId), Buffer.from(JSON.stringify({ n: n++, ...body })));
  };
  return {
    id: params.turnId,
    params,
    principal,
    status,
    emit,
    sendText: (...texts) => texts.forEach((text) => emit({ type: 'delta', text })),
    done() {
      Object.assign(status, { state: 'done', result: RESULT, lastFrame: n });
      emit({ type: 'done', result: RESULT });
    },
    fail(failure) {
      Object.assign(status, { state: 'failed', failure, lastFrame: n });
      emit({ type: 'error', error: failure });
    },
    skipFrame: () => void n++,
  };
}

export interface ServerSentEvent {
  id?: string;
  event?: string;
  retry?: string;
  /** Parsed. */
  data?: unknown;
}

/** The events of a response as they arrive, without comments. */
export async function* readEvents(response: Response): AsyncGenerator<ServerSentEvent, void, void> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) if (!block.startsWith(':')) yield parseBlock(block);
  }
  if (text !== '') throw new Error(`half an event: ${text}`);
}

function parseBlock(block: string): ServerSentEvent {
  const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s, 2))) as Record<string, string>;
  return fields['data'] === undefined
    ? fields
    : { ...fields, data: fields['data'] === '[DONE]' ? '[DONE]' : (JSON.parse(fields['data']) as unknown) };
}

export async function readAllEvents(response: Response): Promise<ServerSentEvent[]> {
  return Array.fromAsync(readEvents(response));
}
