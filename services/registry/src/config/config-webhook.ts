import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError, type SecretRef } from '@switchyard/contracts';
import type { Egress } from '@switchyard/egress';
import type { SecretReader, Settings } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import { renderDiff } from './render-diff.ts';
import type { Version } from './version-storage.ts';
import type { Versions } from './version-chain.ts';

const ATTEMPTS = 3;
const PAUSE_MS = 1_000;
/** Longer diffs are cut; `config.diff` returns the whole diff. */
const MAX_DIFF_CHARS = 65_536;

interface ConfigWebhookDeps {
  settings: Settings<'daemon' | 'security'>;
  versions: Pick<Versions, 'find'>;
  secret: SecretReader;
  log: Pick<Logger, 'warn'>;
  pauseMs?: number;
}

/** Reports each version of the configuration to `daemon.configWebhook`. */
export interface ConfigWebhook extends AsyncDisposable {
  /** Sends the version in the background, with up to three attempts. */
  send(version: Version): void;
}

/**
 * The replica that wrote a version sends it. A crash loses the notification; `config.history` has the version. A change of the webhook
 * address may still be sent to the old address.
 */
export function createConfigWebhook({ settings, versions, secret, log, pauseMs = PAUSE_MS }: ConfigWebhookDeps): ConfigWebhook {
  const ending = new AbortController();
  const sending = new Set<Promise<void>>();
  let egress: Promise<Egress> | undefined;

  /** The HTTP client is loaded with the first version that is sent. The operator configures the address, so it may be local. */
  async function openEgress(): Promise<Egress> {
    const { createEgress } = await import('@switchyard/egress');
    return createEgress({ settings: () => settings.current.security, reach: 'configured' });
  }

  async function send(version: Version): Promise<void> {
    const { url, timeoutMs, secret: key } = settings.current.daemon.configWebhook;
    if (url === undefined || url === '') return;
    const body = JSON.stringify(await createBody(versions, version));
    const value = await resolveSecret(key, secret);
    const signed = value === undefined ? {} : { 'x-webhook-signature': `sha256=${createHmac('sha256', value).update(body).digest('hex')}` };
    const headers = { 'content-type': 'application/json', ...signed };
    for (let attempt = 1; ; attempt++) {
      const failure = await post(await (egress ??= openEgress()), url, { body, headers, timeoutMs, signal: ending.signal });
      if (failure === undefined || ending.signal.aborted) return;
      if (attempt === ATTEMPTS) throw new Error(failure);
      await delay(pauseMs * attempt, undefined, { signal: ending.signal }).catch(() => undefined);
    }
  }

  return {
    send(version) {
      const sent = send(version)
        .catch((err: unknown) => {
          const fields = { sha: version.sha, errorKind: 'network', hint: 'check daemon.configWebhook' };
          log.warn({ err, ...fields }, 'failed to send a configuration change to the webhook');
        })
        .finally(() => sending.delete(sent));
      sending.add(sent);
    },
    async [Symbol.asyncDispose]() {
      ending.abort();
      await Promise.all(sending);
      await (await egress)?.[Symbol.asyncDispose]();
    },
  };
}

/** The request body. Secrets are redacted in the diff. */
async function createBody(versions: ConfigWebhookDeps['versions'], version: Version): Promise<object> {
  const { sha, parent, at, author, agent, message, section, reason, layer } = version;
  const before = parent === undefined ? {} : (await versions.find(parent)).layer;
  return {
    event: 'config.changed',
    method: parseMethod(message),
    section,
    diff: (await renderDiff(before, layer)).slice(0, MAX_DIFF_CHARS),
    commitSha: sha,
    metadata: { agent, user: author, summary: reason ?? message },
    timestamp: at,
  };
}

/** The method in a default message of the history; undefined if the author wrote a message. */
function parseMethod(message: string): string | undefined {
  return /^config\.(apply|patch|set|rollback)\b/.exec(message)?.[0];
}

async function resolveSecret(ref: SecretRef | undefined, secret: SecretReader): Promise<string | undefined> {
  if (ref === undefined || typeof ref === 'string') return ref;
  const value = ref.source === 'env' ? await secret(ref.id, undefined, 'signing') : null;
  if (value === null)
    throw new Error(`daemon.configWebhook.secret names ${ref.id}, which is not set. Nothing is sent without a signature.`);
  return value;
}

interface Post {
  body: string;
  headers: Record<string, string>;
  timeoutMs: number;
  signal: AbortSignal;
}

/** Returns what went wrong, or undefined. Redirects are rejected: the signed body is for the configured address only. */
async function post(egress: Egress, url: string, request: Post): Promise<string | undefined> {
  try {
    const response = await egress.fetch(url, { method: 'POST', maxRedirects: 0, ...request });
    await response.body?.cancel();
    return response.ok ? undefined : `the webhook answered ${response.status}`;
  } catch (error) {
    if (error instanceof ServiceError && error.details.reason === 'ADDRESS_BLOCKED') throw error;
    return error instanceof Error ? error.message : String(error);
  }
}
