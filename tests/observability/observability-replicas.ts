import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { DEFAULT_TENANT, EVENTS_LOG } from '@switchyard/contracts';
import { openStore } from '@switchyard/store';
import { startProcess, tempDir, type StartedProcess } from '@switchyard/testkit';
import { positionCollection } from '../../services/observability/src/documents/collections.ts';

const MAIN = fileURLToPath(new URL('../../services/observability/src/main.ts', import.meta.url));
const START_MS = 90_000;
const POLL_MS = 50;
/** Name of the document with the position in the event log. */
const EVENTS_POSITION = 'events';

export interface Servers {
  bus: string;
  store: string;
}

/** Processes of observability that ingest one event log into one database. */
export interface ObservabilityReplicas extends AsyncDisposable {
  /** Kills a process with SIGKILL and starts it again; does not wait for the start. */
  kill(replica: number): Promise<void>;
  /** Resolves when all processes serve. */
  ready(): Promise<void>;
}

export async function startReplicas({ bus, store }: Servers, count: number): Promise<ObservabilityReplicas> {
  await using starting = new AsyncDisposableStack();
  const data = starting.use(await tempDir()).path;
  const launch = (replica: number): Promise<StartedProcess> => {
    const env = { HOME: data, SWITCHYARD_DATA: data, SWITCHYARD_CONFIG: ':', SWITCHYARD_BUS: bus, SWITCHYARD_STORE: store };
    return startProcess([process.execPath, MAIN], { env: { ...env, SWITCHYARD_REPLICA: `observability-${replica}` }, timeoutMs: START_MS });
  };
  const replicas = await Promise.all(Array.from({ length: count }, (_, replica) => launch(replica)));
  starting.defer(async () => void (await Promise.all(replicas.map((one) => one.end('SIGKILL')))));
  const ready = async (): Promise<void> => void (await Promise.all(replicas.map((one) => one.line(/"msg":"serving"/))));
  await ready();
  const started = starting.move();
  return {
    async kill(replica) {
      await replicas[replica]?.end('SIGKILL');
      replicas[replica] = await launch(replica);
    },
    ready,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** Deletes the event log as a server does that loses its disk. The next event creates another one. */
export async function wipeLog({ bus }: Servers): Promise<void> {
  const connection = await connect({ servers: bus });
  await connection.request(`$JS.API.STREAM.DELETE.${EVENTS_LOG.name}`);
  await connection.close();
}

/** How far the event log is folded. */
export interface IngestState {
  /** Sequence number of the last folded event. */
  seq: number;
  /** Sequence number of the last event of the log. */
  lastSeq: number;
  /** Usage of a lost log is still read from its owners. */
  isRecovering: boolean;
}

/** Reads the state of the ingest from the log and the database, without the replicas. */
export async function watchIngest({ bus, store }: Servers): Promise<AsyncDisposable & { read(): Promise<IngestState> }> {
  const [connection, documents] = await Promise.all([connect({ servers: bus }), openStore(store, { service: 'observability' })]);
  const { positions } = await documents.open({ positions: positionCollection });
  const manager = await jetstreamManager(connection);
  return {
    async read() {
      const { created, state } = await manager.streams.info(EVENTS_LOG.name);
      const position = await positions.for({ tenant: DEFAULT_TENANT }).get(EVENTS_POSITION);
      const isCurrent = position?.log === created.replaceAll(/\W/g, '').toLowerCase();
      return { seq: isCurrent ? position.seq : 0, lastSeq: state.last_seq, isRecovering: position?.recoverFrom !== undefined };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([connection.close(), documents.close()]);
    },
  };
}

/** Sets the position of the ingest back to the start of the log, as after a restored backup, and resolves when its first page is read again. */
export async function replayLog({ store }: Servers): Promise<void> {
  const documents = await openStore(store, { service: 'observability' });
  try {
    const { positions } = await documents.open({ positions: positionCollection });
    const stored = positions.for({ tenant: DEFAULT_TENANT });
    const before = await stored.update({ name: EVENTS_POSITION }, { set: { seq: 0 } });
    if (before === null) throw new Error('no position is stored');
    while (((await stored.get(EVENTS_POSITION))?.seq ?? 0) === 0) await sleep(POLL_MS);
  } finally {
    await documents.close();
  }
}
