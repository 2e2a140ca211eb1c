import { EndpointUse, Replica, ReplicaReadiness } from '@switchyard/contracts';
import { DISCOVERY, PING, PING_TYPE, STATS, STATS_TYPE } from '../wire/service-announcement.ts';
import type { DiscoverOptions } from './bus.ts';
import { EMPTY, decodeText } from '../wire/encoding.ts';
import { busUnreachable } from '../wire/errors.ts';
import type { Message } from '../wire/transport.ts';
import type { Wire } from './bus-context.ts';

/** How long answers are waited for: nobody knows how many there will be. */
const WINDOW_MS = 250;
/** Somebody else on the bus may answer without end. */
const MOST_ANSWERS = 1_000;
const NO_RESPONDERS = 503;
const LONGEST_ERROR = 500;
const NANOS_PER_MS = 1_000_000;

/** What is asked, and what an answer is. */
interface Question {
  subject: string;
  type: string;
  /** In bytes. A longer answer is none of ours. */
  longest: number;
}
const WHO: Question = { subject: PING, type: PING_TYPE, longest: 4_096 };
const HOW: Question = { subject: STATS, type: STATS_TYPE, longest: 131_072 };

/** As a replica of ours announces itself; whatever it is, it is checked. */
interface Answer {
  type: unknown;
  name: unknown;
  version: unknown;
  metadata: { replica: unknown; started: unknown; pid: unknown; host: unknown };
  endpoints?: readonly Record<string, unknown>[];
  data?: unknown;
}

/** Asks all at once, and gathers who answers in time, each replica once, in the order of their names. */
export function discover({ transport, mux }: Wire, { closely = false, until }: DiscoverOptions = {}): Promise<Replica[]> {
  const question = closely ? HOW : WHO;
  const { promise, resolve, reject } = Promise.withResolvers<Replica[]>();
  const found = new Map<string, Replica>();
  const wanted = new Set<string>(until);
  const finish = (): void => resolve([...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, replica]) => replica));

  const id = mux.open(
    {
      onMessage(message) {
        const replica = readAnswer(message, question);
        if (replica) found.set(`${replica.service}.${replica.replica}`, replica);
        if (replica) wanted.delete(replica.service);
        const enough = (until !== undefined && wanted.size === 0) || found.size >= MOST_ANSWERS;
        if (message.status !== NO_RESPONDERS && !enough) return;
        mux.close(id);
        finish();
      },
      onDeadline: finish,
      onLost: reject,
    },
    WINDOW_MS,
    DISCOVERY,
  );
  const asked = transport.connected() && transport.publish({ subject: question.subject, data: EMPTY, reply: mux.address(id, DISCOVERY) });
  if (!asked && mux.close(id)) reject(busUnreachable());
  return promise;
}

/** Others may share the bus: what is not one of our replicas is passed over. */
function readAnswer({ data, status }: Message, { type, longest }: Question): Replica | undefined {
  if (status !== undefined || data.length > longest) return undefined;
  try {
    const answer = JSON.parse(decodeText(data)) as Answer;
    if (answer.type !== type) return undefined;
    const { replica, started, pid, host } = answer.metadata;
    const readiness = answer.data === undefined ? undefined : ReplicaReadiness.safeParse(answer.data).data;
    const endpoints = answer.endpoints?.flatMap((endpoint) => readEndpoint(endpoint) ?? []);
    return Replica.safeParse({
      service: answer.name,
      replica,
      version: answer.version,
      startedAt: Date.parse(String(started)),
      pid: Number(pid),
      host,
      ...(readiness === undefined ? {} : { readiness }),
      ...(endpoints === undefined ? {} : { endpoints }),
    }).data;
  } catch {
    return undefined;
  }
}

/** `rpc.sessions.session.list` is the method `session.list`. */
function readEndpoint(endpoint: Record<string, unknown>): EndpointUse | undefined {
  return EndpointUse.safeParse({
    method: String(endpoint['subject']).split('.').slice(2).join('.'),
    requests: endpoint['num_requests'],
    errors: endpoint['num_errors'],
    lastError: String(endpoint['last_error']).slice(0, LONGEST_ERROR),
    averageMs: Number(endpoint['average_processing_time']) / NANOS_PER_MS,
  }).data;
}
