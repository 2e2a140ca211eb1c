import { createHmac, randomUUID } from 'node:crypto';
import type { Sections } from '@switchyard/contracts';

type Webhooks = Sections['webhooks'];

export interface Delivery {
  body: string;
  /** Path below the webhook base path. */
  path: string;
  webhooks: Webhooks;
  /** Epoch milliseconds. */
  now: number;
}

/** Creates the signature headers that the sender of a mapping would send. */
export function signedHeaders(key: string, { body, path, webhooks, now }: Delivery): Record<string, string> {
  const below = normal(path);
  const mapping = webhooks.mappings.find(({ match }) => match?.path === undefined || normal(match.path) === below);
  const seconds = String(Math.floor(now / 1_000));
  if (mapping?.scheme === 'standard') return standard(key, body, seconds);
  const { algorithm, headerName, timestampHeaderName, signedTimestamp } = webhooks.hmac;
  if (mapping === undefined && below === 'github' && webhooks.presets.includes('github'))
    return { 'x-hub-signature-256': `sha256=${createHmac('sha256', key).update(body).digest('hex')}`, 'x-github-event': 'ping' };
  const hmac = createHmac(algorithm, key);
  if (signedTimestamp) hmac.update(`${seconds}.`);
  return { [headerName]: hmac.update(body).digest('hex'), [timestampHeaderName]: seconds };
}

function standard(key: string, body: string, seconds: string): Record<string, string> {
  const id = `msg_${randomUUID()}`;
  const secret = key.startsWith('whsec_') ? Buffer.from(key.slice('whsec_'.length), 'base64') : Buffer.from(key);
  const signature = createHmac('sha256', secret).update(`${id}.${seconds}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': `v1,${signature}` };
}

function normal(path: string): string {
  return path.replaceAll(/^\/+|\/+$/g, '').toLowerCase();
}
