import { callables, INLINE_BYTES, SEALING_KEY, ServiceError, type Callable, type Result, type SealedParts } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { hideValue } from '@switchyard/telemetry';
import type { Reply } from './bus.ts';
import { decodeJson, EMPTY, encodeText } from './bytes.ts';
import { internal, noResponders, paramsTooLarge } from './failures.ts';
import { findHeader, PRINCIPAL } from './headers.ts';
import { request, type Request } from './request.ts';
import { answerNotMine, opensNotHere, paramsPlace, resultPlace, sealedJson, sealedTextIn, sealText, type Seal } from './sealed.ts';
import type { Wire } from './wire.ts';

type OnReply = (reply: Reply) => void;
type Cancel = () => void;

/** As `request`. What the contract calls secret crosses the bus sealed; neither who asks nor who answers sees anything of that. */
export function ask(wire: Wire, made: Request, onReply: OnReply): Cancel {
  const { sealed } = made.callable;
  return sealed === undefined ? request(wire, made, onReply) : askSealed(wire, made, sealed, onReply);
}

function askSealed(wire: Wire, made: Request, { params }: SealedParts, onReply: OnReply): Cancel {
  const asking = { key: wire.box().key, nonce: mintId('seal') };
  if (params.length === 0) return send(wire, made, { ...asking, at: 0 }, onReply);
  const { callable, head } = made;
  const { key: _of, ...heading } = head;
  const askedAt = performance.now();
  let cancel = request(wire, { callable: keyOperation(), params: EMPTY, head: heading }, ({ data, error }) => {
    if (data === undefined) return onReply({ error: error === undefined ? opensNotHere(callable.name) : ofMethod(callable, error) });
    try {
      const { key: to, at } = decodeJson(data) as Result<typeof SEALING_KEY>;
      const seal = { ...asking, at };
      const timeoutMs = Math.max(head.timeoutMs - (performance.now() - askedAt), 1);
      const sealed = { callable, params: sealParams(wire, made, { secret: params, seal, to }), head: { ...head, timeoutMs } };
      cancel = send(wire, sealed, seal, onReply);
    } catch (thrown) {
      onReply({ error: thrown instanceof ServiceError ? thrown : internal(thrown) });
    }
  });
  return () => cancel();
}

function send(wire: Wire, { callable, params, head }: Request, seal: Seal, onReply: OnReply): Cancel {
  const made = { callable, params, head: { ...head, seal: sealText(seal) } };
  const sealed = (callable.sealed?.result.length ?? 0) > 0;
  return request(wire, made, (reply) => onReply(sealed && reply.error === undefined ? openReply(wire, callable, seal, reply) : reply));
}

interface Sealing {
  /** The names of the secret members. */
  secret: readonly string[];
  seal: Seal;
  to: string;
}

/** All of them together: also what stands under a name that was mistyped. The values are hidden from the logs of this process too. */
function sealParams(wire: Wire, { callable, params, head }: Request, { secret, seal, to }: Sealing): Uint8Array {
  if (params.length > INLINE_BYTES) throw paramsTooLarge(params.length);
  const said = decodeJson(params);
  for (const [name, value] of Object.entries(said ?? {})) if (secret.includes(name) && typeof value === 'string') hideValue(value);
  const principal = findHeader(head.principal, PRINCIPAL) ?? '';
  const text = wire.box().seal(to, encodeText(JSON.stringify(said)), paramsPlace(callable.name, seal, principal));
  if (text === undefined) throw opensNotHere(callable.name);
  return sealedJson(text);
}

/** An answer that was not sealed for this call is none, whoever it is from. */
function openReply(wire: Wire, { name }: Callable, seal: Seal, { data, large }: Reply): Reply {
  large?.leave();
  const text = data && sealedTextIn(parsed(data));
  const plain = text === undefined ? undefined : wire.box().unseal(text, resultPlace(name, seal));
  return plain === undefined ? { error: answerNotMine(name) } : { data: plain };
}

function parsed(data: Uint8Array): unknown {
  try {
    return decodeJson(data);
  } catch {
    return undefined;
  }
}

function keyOperation(): Callable {
  const callable = callables.get(SEALING_KEY);
  if (callable === undefined) throw new TypeError(`${SEALING_KEY} is not declared`);
  return callable;
}

/** Who asked knows nothing of the operation in front of what it asked for. */
function ofMethod(callable: Callable, error: ServiceError): ServiceError {
  return error.details.reason === 'NO_RESPONDERS' ? noResponders(callable) : error;
}
