import { setTimeout as delay } from 'node:timers/promises';
import { credsAuthenticator, errors, type Authenticator, type ConnectionOptions, type NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import type { Logger } from '@switchyard/telemetry';
import type { BusCredentials } from './bus-credentials.ts';
import { credentialsRejectedError, certificateRejectedError, invalidCredentialsError } from '../wire/errors.ts';
import { probeCertificateRejection } from './nats-tls-probe.ts';

const RETRY_INTERVAL_MS = 250;
/** A server that wants a certificate hangs up after the handshake, which the client learns from silence alone. */
const CONNECT_TIMEOUT_MS = 5_000;
const WARN_INTERVAL_MS = 5_000;

/** What a server says of our certificate, or that there is none. */
const CLIENT_CERTIFICATE_ALERT = /_ALERT_(?!PROTOCOL_VERSION)/;
/** What Node says of a certificate, ours or theirs, that the other side does not take: waiting mends none of it. */
const CERTIFICATE_ERROR_CODE = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_SSL|ERR_TLS|ERR_OSSL/;

/** Where the servers are and who we are. What stands in the address counts as well as what is given beside it. */
export function dialOptions(url: string, { user, password, token, credentials, tls }: BusCredentials = {}): ConnectionOptions {
  const addresses = url.split(',').map((one) => new URL(one));
  const { username, password: secret, protocol } = addresses[0] as URL;
  return {
    servers: addresses.map(({ host }) => host),
    ...readIdentity({ user: user ?? decodeURIComponent(username), password: password ?? decodeURIComponent(secret), token, credentials }),
    ...(tls !== undefined || protocol === 'tls:' ? { tls: tls ?? {} } : {}),
  };
}

/** A name without a password is a token, as in the addresses of other NATS tools. */
function readIdentity({ user = '', password = '', token, credentials }: BusCredentials): ConnectionOptions {
  if (credentials !== undefined) return { authenticator: readCredentials(credentials) };
  if (token !== undefined) return { token };
  if (user === '') return {};
  return password === '' ? { token: user } : { user, pass: password };
}

/** Tried here once, because the client leaves a connection hanging whose authenticator throws. */
function readCredentials(text: string): Authenticator {
  const authenticator = credsAuthenticator(new TextEncoder().encode(text));
  try {
    authenticator('nonce');
    return authenticator;
  } catch (cause) {
    throw invalidCredentialsError(cause);
  }
}

/** Waits for a server that is not there yet. One that lets us in under no circumstances is not asked again. */
export async function dial(options: ConnectionOptions, log: Logger): Promise<NatsConnection> {
  const servers = [options.servers ?? []].flat();
  let warnedAt = performance.now();
  for (;;) {
    try {
      return await connect({ ...options, timeout: CONNECT_TIMEOUT_MS });
    } catch (err) {
      if (isCertificateRejection(err)) throw certificateRejectedError(servers.join(','), err);
      if (isCredentialsRejection(err)) throw credentialsRejectedError(servers.join(','), err);
      await explainSilence(err, options);
      if (performance.now() - warnedAt >= WARN_INTERVAL_MS) {
        warnedAt = performance.now();
        log.warn({ servers, err }, 'waiting for NATS');
      }
    }
    await delay(RETRY_INTERVAL_MS * (1 + Math.random()));
  }
}

/** Throws where a server fell silent because of our certificate, or because there is none: waiting mends neither. */
async function explainSilence(error: unknown, { servers, tls }: ConnectionOptions): Promise<void> {
  if (!(error instanceof errors.TimeoutError)) return;
  for (const server of [servers ?? []].flat()) {
    const refusal = await probeCertificateRejection(server, tls ?? undefined);
    if (refusal !== undefined && isCertificateRejection(refusal)) throw certificateRejectedError(server, refusal);
  }
}

function isCertificateRejection(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return CLIENT_CERTIFICATE_ALERT.test(String((error as NodeJS.ErrnoException).code)) || isCertificateRejection(error.cause);
}

function isCredentialsRejection(error: unknown): boolean {
  if (error instanceof errors.AuthorizationError || error instanceof errors.UserAuthenticationExpiredError) return true;
  if (!(error instanceof Error)) return false;
  if (/does not support 'tls'/.test(error.message)) return true;
  const { code } = error as NodeJS.ErrnoException;
  return CERTIFICATE_ERROR_CODE.test(code ?? '') || (error.cause !== undefined && isCredentialsRejection(error.cause));
}
