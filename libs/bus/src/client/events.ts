import {
  EVENTS_LOG,
  INLINE_BYTES,
  contracts,
  describeIssues,
  eventServices,
  progressEvents,
  servicePrincipal,
  subjects,
  type Contract,
  type EventName,
  type EventPayload,
  type Principal,
  type ServiceName,
} from '@switchyard/contracts';
import { LRUCache } from 'lru-cache';
import { checkEmits } from './emit-check.ts';
import type { BusEvent, OnOptions } from './bus.ts';
import { decodeJson, encodeJson } from '../wire/encoding.ts';
import { payloadTooLargeError } from '../wire/errors.ts';
import { PRINCIPAL } from '../wire/headers.ts';
import { decodePrincipal, encodePrincipal } from '../wire/principal-header.ts';
import type { Log, LogEntry, Message, Outgoing, Subscription } from '../wire/transport.ts';
import type { BusContext } from './bus-context.ts';

export function emit<N extends EventName>(context: BusContext, principal: Principal, name: N, payload: EventPayload<N>): void {
  if (context.checkResults) {
    checkEmits(name);
    checkPayload(name, payload);
  }
  const message = eventMessage(name, payload, principal);
  context.transport.publish(progressEvents.has(name) ? { ...message, ephemeral: true } : message);
}

/** Same as `emit`, but resolves once the log has stored the event. Duplicate ids are stored once. */
export async function record(
  context: BusContext,
  events: Log,
  event: { id: string; name: string; payload: unknown; tenant: string },
): Promise<void> {
  if (context.checkResults) checkPayload(event.name, event.payload);
  const message = eventMessage(event.name, event.payload, getServicePrincipal(context, event.tenant));
  await events.append(message, event.id);
}

export function on<N extends EventName>(
  context: BusContext,
  name: N,
  onEvent: (event: BusEvent<N>) => void,
  options: OnOptions,
): Subscription {
  return context.transport.subscribe(
    getEventSubject(name),
    (message) => {
      try {
        onEvent({ name, payload: decodeJson(message.data) as EventPayload<N>, tenant: readTenant(message) });
      } catch (err) {
        context.log.error({ err, event: name }, 'an event handler failed');
      }
    },
    options.queue,
  );
}

/** Returns whether a message is an event that the log does not keep. */
export function isProgress({ subject }: Pick<Message, 'subject'>): boolean {
  return progressEvents.has(eventNames.get(subject.slice(0, subject.lastIndexOf('.'))) ?? '');
}

/** Reads an event from a message or a log entry and keeps its payload as bytes. Returns undefined for other entries. */
export function readEvent({ subject, data, header }: Pick<LogEntry, 'subject' | 'data' | 'header'>): StoredEvent | undefined {
  const name = eventNames.get(subject.slice(0, subject.lastIndexOf('.')));
  const principal = decodePrincipal(header(PRINCIPAL) ?? '');
  return name === undefined || principal === undefined ? undefined : { name, tenant: principal.tenant, payload: data };
}

export interface StoredEvent {
  name: string;
  tenant: string;
  /** JSON. */
  payload: Uint8Array;
}

const eventNames: ReadonlyMap<string, string> = new Map(
  [...eventServices.keys()].map((name) => [getEventSubject(name).slice(0, -'.*'.length), name]),
);

export const eventLog = EVENTS_LOG;

function eventMessage(name: string, payload: unknown, principal: Principal): Outgoing {
  const subject = subjects.event(getEventService(name), name, principal.tenant);
  return { subject, data: encodeJson(payload), headers: encodePrincipal(principal) };
}

/** Returns the subject of an event in any tenant. */
export function getEventSubject(name: string): string {
  return subjects.eventInAnyTenant(getEventService(name), name);
}

function getEventService(name: string): ServiceName {
  const service = eventServices.get(name);
  if (service === undefined) throw new TypeError(`unknown event: ${name}`);
  return service;
}

/** Only services publish events, and each event names its tenant in the principal header. */
function readTenant(message: Message): string {
  const principal = decodePrincipal(message.header(PRINCIPAL) ?? '');
  if (principal === undefined) throw new TypeError('the event has no principal header');
  return principal.tenant;
}

const MAX_SERVICE_PRINCIPALS = 2_048;
const servicePrincipals = new LRUCache<string, Principal>({ max: MAX_SERVICE_PRINCIPALS });

/** Caches one principal object for each service and tenant, because header encoding is cached by object. */
function getServicePrincipal({ service }: BusContext, tenant: string): Principal {
  const key = `${service ?? 'bus'} ${tenant}`;
  let principal = servicePrincipals.get(key);
  if (principal === undefined) servicePrincipals.set(key, (principal = servicePrincipal(service ?? 'bus', tenant)));
  return principal;
}

/** Checks an event against its contract and the size limit. For tests and development. */
function checkPayload(name: string, payload: unknown): void {
  const { length } = encodeJson(payload);
  if (length > INLINE_BYTES) throw payloadTooLargeError(name, length, INLINE_BYTES);
  const service = eventServices.get(name);
  const spec = service === undefined ? undefined : (contracts[service] as Contract).events[name];
  const parsed = spec?.payload.safeParse(payload, { reportInput: true });
  if (parsed?.success !== false) return;
  const issues = describeIssues(parsed.error);
  throw new TypeError(`${name} breaks its contract: ${issues.map((issue) => issue.message).join('; ')}`);
}
