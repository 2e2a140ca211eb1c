import { EndpointUse, Replica, ReplicaReadiness, subjects, type ServiceName } from '@switchyard/contracts';
import { DISCOVERY_RESPONDER, PING_SUBJECT, PING_TYPE, STATS_SUBJECT, STATS_TYPE } from '../wire/service-announcement.ts';
import type { DiscoverOptions } from './bus.ts';
import { EMPTY, decodeText } from '../wire/encoding.ts';
import { busUnreachableError } from '../wire/errors.ts';
import type { Message } from '../wire/transport.ts';
import type { BusContext } from './bus-context.ts';

/** The number of replicas is unknown, so discovery collects responses for a fixed time. */
const RESPONSE_WINDOW_MS = 250;
/** Bounds the responses of other programs on the same bus. */
const MAX_RESPONSES = 1_000;
const NO_RESPONDERS = 503;
const MAX_ERROR_LENGTH = 500;
const NANOS_PER_MS = 1_000_000;

/** A discovery request and its expected responses. */
interface DiscoveryQuery {
  subject: string;
  type: string;
  /** Longer responses are ignored. */
  maxBytes: number;
}
const PING_QUERY: DiscoveryQuery = { subject: PING_SUBJECT, type: PING_TYPE, maxBytes: 4_096 };
const STATS_QUERY: DiscoveryQuery = { subject: STATS_SUBJECT, type: STATS_TYPE, maxBytes: 131_072 };

/** Response of a replica, before validation. */
interface Answer {
  type: unknown;
  name: unknown;
  version: unknown;
  metadata: { replica: unknown; started: unknown; pid: unknown; host: unknown };
  endpoints?: readonly Record<string, unknown>[];
  data?: unknown;
}

/** Requests the identity of all replicas and collects the responses, one for each replica, sorted by name. */
export function discover(
  { transport, mux }: BusContext,
  { includeStats = false, requiredServices, windowMs = RESPONSE_WINDOW_MS }: DiscoverOptions = {},
): Promise<Replica[]> {
  const query = includeStats ? STATS_QUERY : PING_QUERY;
  const { promise, resolve, reject } = Promise.withResolvers<Replica[]>();
  const replicas = new Map<string, Replica>();
  const missing = new Set<string>(requiredServices);
  const finish = (): void => resolve([...replicas].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, replica]) => replica));

  const id = mux.open(
    {
      onMessage(message) {
        const replica = readAnswer(message, query);
        if (replica) replicas.set(`${replica.service}.${replica.replica}`, replica);
        if (replica) missing.delete(replica.service);
        const complete = (requiredServices !== undefined && missing.size === 0) || replicas.size >= MAX_RESPONSES;
        if (message.status !== NO_RESPONDERS && !complete) return;
        mux.close(id);
        finish();
      },
      onDeadline: finish,
      onLost: reject,
    },
    windowMs,
    DISCOVERY_RESPONDER,
  );
  const sent =
    transport.connected() &&
    transport.publish({ subject: query.subject, data: EMPTY, reply: mux.formatReplySubject(id, DISCOVERY_RESPONDER) });
  if (!sent && mux.close(id)) reject(busUnreachableError());
  return promise;
}

/** Sends a request that no replica answers. The bus reports at once if no connection subscribes to its subject. */
export function isReplicaConnected({ transport, mux }: BusContext, service: ServiceName, replica: string): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const id = mux.open(
    {
      onMessage({ status }) {
        if (status === NO_RESPONDERS && mux.close(id)) resolve(false);
      },
      onDeadline: () => resolve(true),
      onLost: reject,
    },
    RESPONSE_WINDOW_MS,
    service,
  );
  const subject = subjects.replicaProbe(service, replica);
  const sent = transport.connected() && transport.publish({ subject, data: EMPTY, reply: mux.formatReplySubject(id, service) });
  if (!sent && mux.close(id)) reject(busUnreachableError());
  return promise;
}

/** Ignores responses of other programs on the same bus. */
function readAnswer({ data, status }: Message, { type, maxBytes }: DiscoveryQuery): Replica | undefined {
  if (status !== undefined || data.length > maxBytes) return undefined;
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

/** Maps a subject to its method: `rpc.sessions.session.list` is `session.list`. */
function readEndpoint(endpoint: Record<string, unknown>): EndpointUse | undefined {
  return EndpointUse.safeParse({
    method: String(endpoint['subject']).split('.').slice(2).join('.'),
    requests: endpoint['num_requests'],
    errors: endpoint['num_errors'],
    lastError: String(endpoint['last_error']).slice(0, MAX_ERROR_LENGTH),
    averageMs: Number(endpoint['average_processing_time']) / NANOS_PER_MS,
  }).data;
}
