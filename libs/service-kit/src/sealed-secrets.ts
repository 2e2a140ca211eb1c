import type { Bus } from '@switchyard/bus';
import { ServiceError, type SecretAsker, type ServiceName } from '@switchyard/contracts';
import { mintId, openBox } from '@switchyard/security';
import { hideValue } from '@switchyard/telemetry';

/** The value of a secret, or null where none of that name is set; with the origin that it is sent to, of a provider's key. */
export type SecretReader = (name: string, origin?: string) => Promise<string | null>;

/**
 * Reads secrets for a service. What it asks for crosses the bus sealed to this process: whoever else sees the answer cannot open
 * it, and nobody can give it another one, or an old one, in its place. What was read is hidden from the logs of this process.
 */
export function createSecretReader(bus: Pick<Bus, 'call'>, service: ServiceName): SecretReader {
  const asking = openSecretAsking(service);
  return async (name, origin) => {
    const to = asking.asker();
    const { value } = await bus.call('secrets.resolve', { name, ...(origin === undefined ? {} : { origin }), to });
    return value === null ? null : asking.open(name, value, to);
  };
}

/** What a process needs to ask for sealed values, and to open them. */
export interface SecretAsking {
  /** Drawn anew for each call. */
  asker(): SecretAsker;
  /** The value that came for that call; it is hidden from the logs of this process. DATA_LOSS for one that was not sealed for it. */
  open(name: string, sealed: string, to: SecretAsker): string;
}

export function openSecretAsking(service: ServiceName): SecretAsking {
  const box = openBox();
  return {
    asker: () => ({ service, key: box.key, nonce: mintId('ask') }),
    open(name, sealed, to) {
      const plain = box.unseal(sealed, placeOf(name, to));
      if (plain === undefined) throw notMine(name);
      const text = Buffer.from(plain).toString();
      hideValue(text);
      return text;
    },
  };
}

/** Seals a value for whoever asked for it. */
export type SecretSealer = (name: string, value: string, to: SecretAsker) => string;

export function createSecretSealer(): SecretSealer {
  const box = openBox();
  return (name, value, to) => {
    const sealed = box.seal(to.key, Buffer.from(value), placeOf(name, to));
    if (sealed !== undefined) return sealed;
    throw new ServiceError('INVALID_ARGUMENT', 'Invalid params: to.key: expected a public key of X25519, got another text');
  };
}

/** What a seal is bound to: who asked, for what, and in which call. */
function placeOf(name: string, { service, key, nonce }: SecretAsker): string[] {
  return ['secrets.resolve', service, key, nonce, name];
}

function notMine(name: string): ServiceError {
  return new ServiceError('DATA_LOSS', `the answer for the secret ${name} was not sealed for this call: it is not used`, {
    details: { reason: 'NOT_SEALED' },
  });
}
