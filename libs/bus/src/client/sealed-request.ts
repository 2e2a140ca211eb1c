import { callables, INLINE_BYTES, SEALING_KEY, ServiceError, type Callable, type Result, type SealedParts } from '@switchyard/contracts';
import { encryptTo, mintId } from '@switchyard/security';
import { hideValue } from '@switchyard/telemetry';
import type { Reply } from './bus.ts';
import { decodeJson, EMPTY, encodeText } from '../wire/encoding.ts';
import { internalError, noRespondersError, paramsTooLargeError } from '../wire/errors.ts';
import { findHeader, PRINCIPAL } from '../wire/headers.ts';
import { sendPlainRequest, type Request } from './request.ts';
import {
  bindParams,
  bindResult,
  encodeSealed,
  formatSeal,
  paramsNotDecrypted,
  readSealed,
  resultNotDecrypted,
  type Seal,
} from '../payloads/sealed-payloads.ts';
import type { BusContext } from './bus-context.ts';

type OnReply = (reply: Reply) => void;
type Cancel = () => void;

/** Sends a request. Members that the contract declares as sealed cross the bus encrypted; caller and handler see clear text. */
export function sendRequest(context: BusContext, request: Request, onReply: OnReply): Cancel {
  const { sealed } = request.callable;
  return sealed === undefined ? sendPlainRequest(context, request, onReply) : requestSealed(context, request, sealed, onReply);
}

function requestSealed(context: BusContext, { callable, params, head }: Request, sealed: SealedParts, onReply: OnReply): Cancel {
  const caller = { replyKey: context.replyKey().publicKey, nonce: mintId('seal') };
  const startedAt = performance.now();
  let cancelled = false;
  let cancelRequest: Cancel;

  const report: OnReply = (reply) => {
    if (!cancelled) onReply(reply);
  };

  function send(body: Uint8Array, seal: Seal): Cancel {
    const timeoutMs = Math.max(head.timeoutMs - (performance.now() - startedAt), 1);
    return sendPlainRequest(context, { callable, params: body, head: { ...head, timeoutMs, seal: formatSeal(seal) } }, (reply) => {
      if (sealed.result.length === 0 || reply.error !== undefined) report(reply);
      else void openReply(context, callable, seal, reply).then(report);
    });
  }

  async function encryptAndSend(issued: Uint8Array): Promise<void> {
    try {
      const { key, at: keyIssuedAt } = decodeJson(issued) as Result<typeof SEALING_KEY>;
      const seal = { ...caller, keyIssuedAt };
      const body = await sealParams({ callable, params, head }, sealed.params, { seal, key });
      if (!cancelled) cancelRequest = send(body, seal);
    } catch (error) {
      report({ error: error instanceof ServiceError ? error : internalError(error) });
    }
  }

  if (sealed.params.length === 0) {
    cancelRequest = send(params, { ...caller, keyIssuedAt: 0 });
  } else {
    const { key: _idempotencyKey, ...keyHead } = head;
    cancelRequest = sendPlainRequest(context, { callable: keyOperation(), params: EMPTY, head: keyHead }, ({ data, error }) => {
      if (data !== undefined) void encryptAndSend(data);
      else report({ error: error === undefined ? paramsNotDecrypted(callable.name) : withCallable(callable, error) });
    });
  }
  return () => {
    cancelled = true;
    cancelRequest();
  };
}

/** Encrypts all params, because a secret can also be sent under a mistyped name. Secret values are masked in the logs of this process. */
async function sealParams(
  { callable, params, head }: Request,
  secretNames: readonly string[],
  { seal, key }: { seal: Seal; key: string },
): Promise<Uint8Array> {
  if (params.length > INLINE_BYTES) throw paramsTooLargeError(params.length);
  const body = decodeJson(params);
  for (const [name, value] of Object.entries(body ?? {})) if (secretNames.includes(name) && typeof value === 'string') hideValue(value);
  const principal = findHeader(head.principal, PRINCIPAL) ?? '';
  const jwe = await encryptTo(key, encodeText(JSON.stringify(body)), bindParams(callable.name, seal, principal));
  if (jwe === undefined) throw paramsNotDecrypted(callable.name);
  return encodeSealed(jwe);
}

/** Decrypts a result. A result in clear text, or for another call, becomes an error. */
async function openReply(context: BusContext, { name }: Callable, seal: Seal, { data, large }: Reply): Promise<Reply> {
  large?.discard();
  const jwe = data && readSealed(parse(data));
  const plaintext = jwe === undefined ? undefined : await context.replyKey().decrypt(jwe, bindResult(name, seal));
  return plaintext === undefined ? { error: resultNotDecrypted(name) } : { data: plaintext };
}

function parse(data: Uint8Array): unknown {
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

/** The caller has not called the key operation, so a missing service is reported for the method that it called. */
function withCallable(callable: Callable, error: ServiceError): ServiceError {
  return error.details.reason === 'NO_RESPONDERS' ? noRespondersError(callable) : error;
}
