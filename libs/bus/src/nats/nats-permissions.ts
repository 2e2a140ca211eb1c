import {
  BUCKETS,
  callables,
  EVENTS_LOG,
  eventServices,
  LOGS,
  notifications,
  publicMethods,
  REPLICAS_BUCKET,
  SERVICES,
  streamsOf,
  subjects,
  type Callable,
  type ServiceName,
} from '@switchyard/contracts';
import { DISCOVERY_RESPONDER, PING_SUBJECT, STATS_SUBJECT } from '../wire/service-announcement.ts';
import { eventSubject } from '../client/events.ts';
import { formatInbox, formatReplyPattern } from './nats-inbox.ts';

/** What one user of NATS may do; everything else is refused. */
export interface NatsUser {
  name: string;
  publish: readonly string[];
  subscribe: readonly string[];
}

/** The one that clients talk to: it passes on every public method, and asks who is there. */
const GATEWAY: ServiceName = 'gateway';
/** The one whose agents use methods as tools. */
const SESSIONS: ServiceName = 'sessions';
/** For `nats micro ls` and other tools: `nats --user operator --inbox-prefix _INBOX_operator`. */
const OPERATOR = 'operator';
/** The inbox of a bus that belongs to no service. */
const BUS_WITHOUT_SERVICE = 'bus';

/** Everybody who may come in, read from the contracts: the services, the job that makes what the bus keeps, and the operator. */
export function listNatsUsers(): NatsUser[] {
  return [...SERVICES.map(createServiceUser), createProvisionerUser(), createOperatorUser()];
}

function createServiceUser(service: ServiceName): NatsUser {
  const called = listCallables(service);
  const isEdge = service === GATEWAY;
  const publish = [
    ...called.map(({ subject }) => subject),
    ...called.map((callable) => subjects.cancel(callable.service)),
    ...listCallers(service).map((asker) => formatReplyPattern(asker, service)),
    formatReplyPattern(GATEWAY, DISCOVERY_RESPONDER),
    `${formatInbox(OPERATOR)}.>`,
    subjects.wake(service),
    ...listNotificationSubjects(service),
    ...LOGS.filter(({ writers }) => writers.includes(service)).flatMap((log) =>
      log === EVENTS_LOG ? listEventSubjects(service) : log.subjects,
    ),
    ...listJetStreamSubjects(service),
    ...(isEdge ? [PING_SUBJECT, STATS_SUBJECT, subjects.counted] : []),
    ...(service === SESSIONS ? [subjects.turnEnded] : []),
  ];
  const subscribe = [
    `${formatInbox(service)}.>`,
    ...listServedSubjects(service),
    subjects.cancel(service),
    subjects.wake(service),
    ...['PING', 'INFO', 'STATS'].flatMap((verb) => [`$SRV.${verb}`, `$SRV.${verb}.${service}`, `$SRV.${verb}.${service}.*`]),
    ...LOGS.filter(({ readers }) => readers.includes(service)).flatMap((log) => log.subjects),
    ...(isEdge ? [subjects.notifyClients, subjects.notifyEverybody, subjects.counted] : []),
    ...(service === SESSIONS ? [subjects.turnEnded] : []),
  ];
  return { name: service, publish: sortUnique(publish), subscribe: sortUnique(subscribe) };
}

/** Clients call methods through the edge, agents those that are tools; an operation says itself who calls it. */
function listCallables(service: ServiceName): Callable[] {
  const isTool = (callable: Callable): boolean => service === SESSIONS && callable.tool;
  return [...callables.values()].filter((callable) =>
    publicMethods.has(callable.name) ? service === GATEWAY || isTool(callable) : callable.callers.includes(service),
  );
}

function listCallers(service: ServiceName): ServiceName[] {
  return SERVICES.filter((asker) => listCallables(asker).some((callable) => callable.service === service));
}

function listServedSubjects(service: ServiceName): string[] {
  return [...callables.values()].filter((callable) => callable.service === service).map(({ subject }) => subject);
}

/** Its own, and those of others that its methods say they cause, such as what a turn used. */
function listEventSubjects(service: ServiceName): string[] {
  const caused = [...callables.values()].filter((callable) => callable.service === service).flatMap(({ emits }) => emits);
  return [subjects.eventsOf(service), ...caused.filter((event) => eventServices.get(event) !== service).map(eventSubject)];
}

function listNotificationSubjects(service: ServiceName): string[] {
  const all = Object.values(notifications).filter(({ from }) => (from as readonly ServiceName[]).includes(service) && service !== GATEWAY);
  return all.map(({ audience }) => (audience === 'all' ? subjects.notifyEverybody : subjects.notifyClients));
}

/** Of JetStream's own subjects no more than the bus uses: nothing is made, changed, emptied or removed with them. */
function listJetStreamSubjects(service: ServiceName): string[] {
  const logs = LOGS.flatMap(({ writers, readers, ...log }) => [
    ...(writers.includes(service) || readers.includes(service) ? [`$JS.API.STREAM.INFO.${streamsOf(log)[0]}`] : []),
    ...(readers.includes(service) ? streamsOf(log).map((stream) => `$JS.API.DIRECT.GET.${stream}`) : []),
  ]);
  return [...logs, ...BUCKETS.flatMap((bucket) => listBucketSubjects(service, bucket))];
}

function listBucketSubjects(service: ServiceName, bucket: (typeof BUCKETS)[number]): string[] {
  const { name, writers, readers } = bucket;
  const writes = writers.includes(service);
  if (!writes && !readers.includes(service)) return [];
  const watch = [`$JS.API.STREAM.INFO.KV_${name}`, `$JS.API.CONSUMER.CREATE.KV_${name}.*.$KV.${name}.>`, `$JS.FC.KV_${name}.>`];
  const keys = bucket === REPLICAS_BUCKET ? `${service}.>` : '>';
  return writes ? [...watch, `$JS.API.STREAM.MSG.GET.KV_${name}`, `$KV.${name}.${keys}`] : watch;
}

function createProvisionerUser(): NatsUser {
  const streams = [...LOGS.flatMap(streamsOf), ...BUCKETS.map(({ name }) => `KV_${name}`)];
  const publish = streams.flatMap((name) => ['INFO', 'CREATE', 'UPDATE'].map((verb) => `$JS.API.STREAM.${verb}.${name}`));
  return { name: 'provisioner', publish: sortUnique(publish), subscribe: [`${formatInbox(BUS_WITHOUT_SERVICE)}.>`] };
}

function createOperatorUser(): NatsUser {
  return { name: OPERATOR, publish: ['$SRV.>'], subscribe: [`${formatInbox(OPERATOR)}.>`] };
}

function sortUnique(all: readonly string[]): string[] {
  return [...new Set(all)].toSorted();
}
