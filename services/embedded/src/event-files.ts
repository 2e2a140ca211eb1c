import { dirname, join } from 'node:path';
import type { Bus } from '@switchyard/bus';
import type { EventName, EventPayload, Sections } from '@switchyard/contracts';
import { openRollingFile, type RollingFile } from '@switchyard/telemetry';
import { resolveLogFile } from './log-file.ts';

/** Methods that change configuration, agents, tokens or secrets. */
const CONFIGURATION_METHODS = /^(config|agents|tokens|env|daemon|gateway)\./;

interface EventFilesOptions {
  bus: Pick<Bus, 'on'>;
  settings: Pick<Sections, 'daemon' | 'observability' | 'security'>;
  data: string;
}

/**
 * Writes files beside the log: `config-audit.jsonl` with changes of the configuration and `session-index.<date>.jsonl` with sessions.
 * Both are copies for tools that read files; the audit log and the sessions are in the store.
 */
export function writeEventFiles({ bus, settings, data }: EventFilesOptions): AsyncDisposable {
  const directory = dirname(resolveLogFile(settings, data));
  const { maxSizeBytes, ...rotation } = settings.observability.logRotation;
  const open = (name: string): RollingFile =>
    openRollingFile({ ...rotation, file: join(directory, name), maxBytes: maxSizeBytes, compress: false });
  const audit = settings.security.auditLog ? open('config-audit.jsonl') : undefined;
  let index: { day: string; file: RollingFile } | undefined;

  function getSessionIndex(at: number): RollingFile {
    const day = new Date(at).toISOString().slice(0, 10);
    if (index?.day !== day) index = { day, file: open(`session-index.${day}.jsonl`) };
    return index.file;
  }

  const writeEvents = <N extends EventName>(name: N, selectFile: (payload: EventPayload<N>) => RollingFile | undefined) =>
    bus.on(name, ({ payload, tenant }) => {
      selectFile(payload)?.write(`${JSON.stringify({ time: new Date().toISOString(), event: name, tenant, ...(payload as object) })}\n`);
    });
  const subscriptions = [
    writeEvents('audit:event', ({ actionType, metadata }) =>
      CONFIGURATION_METHODS.test(actionType) && metadata?.['count'] === undefined ? audit : undefined,
    ),
    writeEvents('config:patched', () => audit),
    writeEvents('session:created', ({ timestamp }) => getSessionIndex(timestamp)),
    writeEvents('session:expired', () => getSessionIndex(Date.now())),
  ];
  return {
    async [Symbol.asyncDispose]() {
      for (const one of subscriptions) one.unsubscribe();
      for (const file of [audit, index?.file]) {
        if (file === undefined) continue;
        await new Promise<void>((resolve) => file.flush(() => resolve()));
        await file.settled();
      }
    },
  };
}
