import { encodeJson, subjectToken } from './encoding.ts';
import type { Endpoint, ServiceInfo, Subscription, Transport } from './transport.ts';

const NANOS_PER_MS = 1_000_000;
const TYPE = 'io.nats.micro.v1';

/** Requests the identity of every replica. */
export const PING_SUBJECT = '$SRV.PING';
/** Requests the identity and call statistics of every replica. */
export const STATS_SUBJECT = '$SRV.STATS';
/** Last token of the reply subject of discovery requests. Every replica may respond to it. */
export const DISCOVERY_RESPONDER = 'discovery';
export const PING_TYPE = `${TYPE}.ping_response`;
export const STATS_TYPE = `${TYPE}.stats_response`;

/**
 * Answers `$SRV.PING|INFO|STATS` of the NATS services protocol (ADR-32) over any transport, so that `nats micro ls`, `info` and `stats`
 * work. The client library's implementation counts neither failures nor the duration of asynchronous handlers.
 */
export function announce(
  transport: Pick<Transport, 'publish' | 'subscribe'>,
  { name, version, description, replica, metadata, data }: ServiceInfo,
  endpoints: readonly Endpoint[],
): Subscription[] {
  const id = subjectToken(replica);
  const started = new Date().toISOString();
  const identity = { name, id, version, metadata: { ...metadata, replica, started } };
  const answers = {
    PING: () => ({ type: PING_TYPE, ...identity }),
    INFO: () => ({
      type: `${TYPE}.info_response`,
      ...identity,
      description,
      endpoints: endpoints.map((one) => describeEndpoint(one, name)),
    }),
    STATS: () => ({ type: STATS_TYPE, ...identity, started, endpoints: endpoints.map((one) => formatStats(one, name)), data: data?.() }),
  };
  return Object.entries(answers).flatMap(([verb, answer]) =>
    [`$SRV.${verb}`, `$SRV.${verb}.${name}`, `$SRV.${verb}.${name}.${id}`].map((subject) =>
      transport.subscribe(subject, ({ reply }) => {
        if (reply !== undefined) transport.publish({ subject: reply, data: encodeJson(answer()) });
      }),
    ),
  );
}

function describeEndpoint({ name, subject, metadata = {} }: Endpoint, queue: string) {
  return { name, subject, queue_group: queue, metadata };
}

function formatStats({ name, subject, stats }: Endpoint, queue: string) {
  const { requests = 0, errors = 0, lastError = '', processingMs = 0 } = stats?.() ?? {};
  const nanos = processingMs * NANOS_PER_MS;
  return {
    name,
    subject,
    queue_group: queue,
    num_requests: requests,
    num_errors: errors,
    last_error: lastError,
    processing_time: nanos,
    average_processing_time: requests === 0 ? 0 : Math.round(nanos / requests),
  };
}

/** Combines several subscriptions into one. */
export function combineSubscriptions(subscriptions: readonly Subscription[]): Subscription {
  return {
    unsubscribe: () => subscriptions.forEach((subscription) => subscription.unsubscribe()),
    drain: async () => void (await Promise.all(subscriptions.map((subscription) => subscription.drain()))),
  };
}
