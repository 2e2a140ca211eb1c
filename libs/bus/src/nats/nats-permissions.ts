import {
  BUCKETS,
  callables,
  EVENTS_LOG,
  eventServices,
  processEvents,
  LOGS,
  notifications,
  publicMethods,
  REPLICAS_BUCKET,
  SERVICES,
  listStreams,
  subjects,
  type Callable,
  type ServiceName,
} from '@switchyard/contracts';
import { DISCOVERY_RESPONDER, PING_SUBJECT, STATS_SUBJECT } from '../wire/service-announcement.ts';
import { getEventSubject } from '../client/events.ts';
import { formatInbox, formatReplyPattern } from './nats-inbox.ts';

/** Permissions of a NATS user. All other subjects are denied. */
export interface NatsUser {
  name: string;
  publish: readonly string[];
  subscribe: readonly string[];
}

/** Calls every public method and lists the replicas. */
const GATEWAY: ServiceName = 'gateway';
/** Its agents call methods as tools. */
const SESSIONS: ServiceName = 'sessions';
/** Extracts tasks from turns that end. */
const SCHEDULER: ServiceName = 'scheduler';
/** Rolls back a configuration that a replica does not apply. */
const REGISTRY: ServiceName = 'registry';
/** Publishes the tools of skills again after each change of a skill. */
const TOOLS: ServiceName = 'tools';
/** For `nats micro ls` and other tools: `nats --user operator --inbox-prefix _INBOX_operator`. */
const OPERATOR = 'operator';
/** Inbox of a bus without a service. */
const BUS_WITHOUT_SERVICE = 'bus';

/** Derives all users from the contracts: the services, the provisioning job and the operator. */
export function listNatsUsers(): NatsUser[] {
  return [...SERVICES.map(createServiceUser), createProvisionerUser(), createOperatorUser()];
}

/** Services that list the replicas of all services. */
const DISCOVERING_SERVICES: readonly ServiceName[] = [GATEWAY, 'observability'];

function createServiceUser(service: ServiceName): NatsUser {
  const called = listCallables(service);
  const isEdge = service === GATEWAY;
  const publish = [
    ...called.map(({ subject }) => subject),
    ...called.flatMap(({ kind, name, service: owner }) => (kind === 'operation' ? [subjects.ownOperationOfAnyReplica(owner, name)] : [])),
    ...called.map((callable) => subjects.cancel(callable.service)),
    ...listCallers(service).map((asker) => formatReplyPattern(asker, service)),
    ...DISCOVERING_SERVICES.map((asker) => formatReplyPattern(asker, DISCOVERY_RESPONDER)),
    `${formatInbox(OPERATOR)}.>`,
    subjects.wake(service),
    ...listNotificationSubjects(service),
    ...LOGS.filter(({ writers }) => writers.includes(service)).flatMap((log) =>
      log === EVENTS_LOG ? listEventSubjects(service) : log.subjects,
    ),
    ...listJetStreamSubjects(service),
    ...(DISCOVERING_SERVICES.includes(service) ? [PING_SUBJECT] : []),
    ...(isEdge ? [STATS_SUBJECT, subjects.counted] : []),
    ...(service === REGISTRY ? [subjects.replicaProbes] : []),
    ...(service === SESSIONS ? [subjects.turnEnded, ...listOrderingServices().map(subjects.wake)] : []),
  ];
  const subscribe = [
    `${formatInbox(service)}.>`,
    ...listServedSubjects(service),
    subjects.ownOperationsOfAnyReplica(service),
    subjects.cancel(service),
    subjects.wake(service),
    ...['PING', 'INFO', 'STATS'].flatMap((verb) => [`$SRV.${verb}`, `$SRV.${verb}.${service}`, `$SRV.${verb}.${service}.*`]),
    ...LOGS.filter(({ readers }) => readers.includes(service)).flatMap((log) => log.subjects),
    ...(isEdge ? [subjects.notifyClients, subjects.notifyEverybody, subjects.counted] : []),
    ...(service === SESSIONS ? [subjects.turnEnded, getEventSubject('approval:requested'), getEventSubject('approval:resolved')] : []),
    ...(service === SCHEDULER ? [getEventSubject('turn:ended')] : []),
    ...(service === TOOLS ? [getEventSubject('skill:registry_reset')] : []),
  ];
  return { name: service, publish: sortUnique(publish), subscribe: sortUnique(subscribe) };
}

/**
 * Lists what a service calls: the gateway all public methods, sessions those that are tools, and every service the operations that name it.
 */
function listCallables(service: ServiceName): Callable[] {
  const isTool = (callable: Callable): boolean => service === SESSIONS && callable.tool !== undefined;
  return [...callables.values()].filter((callable) =>
    publicMethods.has(callable.name) ? service === GATEWAY || isTool(callable) : callable.callers.includes(service),
  );
}

function listCallers(service: ServiceName): ServiceName[] {
  return SERVICES.filter((asker) => listCallables(asker).some((callable) => callable.service === service));
}

/** Services that order turns, which sessions wakes when such a turn ends. */
function listOrderingServices(): readonly ServiceName[] {
  return callables.get('turns.order')?.callers ?? [];
}

function listServedSubjects(service: ServiceName): string[] {
  return [...callables.values()].filter((callable) => callable.service === service).map(({ subject }) => subject);
}

/** Its own events, the events of other services that its methods declare in `emits`, and the events that every process emits. */
function listEventSubjects(service: ServiceName): string[] {
  const caused = [...callables.values()].filter((callable) => callable.service === service).flatMap(({ emits }) => emits);
  const foreign = [...caused, ...processEvents].filter((event) => eventServices.get(event) !== service);
  return [subjects.eventsOf(service), ...foreign.map(getEventSubject)];
}

function listNotificationSubjects(service: ServiceName): string[] {
  const all = Object.values(notifications).filter(({ from }) => (from as readonly ServiceName[]).includes(service) && service !== GATEWAY);
  return all.map(({ audience }) => (audience === 'all' ? subjects.notifyEverybody : subjects.notifyClients));
}

/** Only the JetStream subjects that the bus uses. None of them creates, changes, purges or deletes streams. */
function listJetStreamSubjects(service: ServiceName): string[] {
  const logs = LOGS.flatMap(({ writers, readers, ...log }) => [
    ...(writers.includes(service) || readers.includes(service) ? [`$JS.API.STREAM.INFO.${listStreams(log)[0]}`] : []),
    ...(readers.includes(service) ? listStreams(log).map((stream) => `$JS.API.DIRECT.GET.${stream}`) : []),
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
  const streams = [...LOGS.flatMap(listStreams), ...BUCKETS.map(({ name }) => `KV_${name}`)];
  const publish = streams.flatMap((name) => ['INFO', 'CREATE', 'UPDATE'].map((verb) => `$JS.API.STREAM.${verb}.${name}`));
  return { name: 'provisioner', publish: sortUnique(publish), subscribe: [`${formatInbox(BUS_WITHOUT_SERVICE)}.>`] };
}

function createOperatorUser(): NatsUser {
  return { name: OPERATOR, publish: ['$SRV.>'], subscribe: [`${formatInbox(OPERATOR)}.>`] };
}

function sortUnique(all: readonly string[]): string[] {
  return [...new Set(all)].toSorted();
}
