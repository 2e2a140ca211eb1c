import type { RpcError } from '@switchyard/client';
import type { Where } from './context.ts';
import { Failure, type FailureDetail } from './failure.ts';
import { self } from './self.ts';

/** Tells the client's errors from others without loading the client. */
export function isRpcError(error: unknown): error is RpcError {
  return error instanceof Error && error.name === 'RpcError';
}

/** What the gateway or the way to it said, with the command that helps. `next` is for what the call itself got wrong. */
export function explain(error: RpcError, where: Where, next: string = `${self()} doctor`): Failure {
  const { code, reason, requestId, turnId, retryAfterMs, issues } = error.data;
  const detail: FailureDetail = {
    code,
    ...(reason === undefined ? {} : { reason }),
    ...(requestId === '' ? {} : { requestId }),
    ...(turnId === undefined ? {} : { turnId }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(issues === undefined ? {} : { issues }),
  };
  const { sentence, command } = put(error, where, next);
  return new Failure(sentence, command, { detail, cause: error });
}

interface Advice {
  sentence: string;
  command: string;
}

function put(error: RpcError, where: Where, next: string): Advice {
  const { code, reason, retryAfterMs, issues } = error.data;
  const said = asSentence(issues?.length ? summary(error.message) : error.message);
  if (reason === 'CONNECTION_LOST') return unreachable(error, where);
  switch (code) {
    case 'UNAUTHENTICATED':
      return refusedToken(where);
    case 'PERMISSION_DENIED':
      return { sentence: said, command: 'export SWITCHYARD_TOKEN=<a token with that scope>' };
    case 'RESOURCE_EXHAUSTED':
      return {
        sentence: said,
        command: retryAfterMs === undefined ? 'wait, then the same again' : `sleep ${Math.ceil(retryAfterMs / 1000)}, then the same again`,
      };
    case 'UNAVAILABLE':
      return { sentence: said, command: `${self()} status` };
    default:
      return { sentence: said, command: scopeIn(error.message) ? 'export SWITCHYARD_TOKEN=<a token with that scope>' : next };
  }
}

/** The interface fixes this text, and gives it the number of an internal error. */
function scopeIn(message: string): boolean {
  return message.startsWith('Insufficient scope');
}

function unreachable(error: RpcError, { url, local }: Where): Advice {
  const code = systemCode(error);
  if (code === 'ECONNREFUSED')
    return { sentence: `Nothing answers at ${url}.`, command: local ? `${self()} start` : `${self()} doctor --url ${url}` };
  if (code === 'ENOTFOUND') return { sentence: `The name in ${url} is unknown here.`, command: `${self()} --url <address> status` };
  return { sentence: `The connection to ${url} was lost${code === undefined ? '' : ` (${code})`}.`, command: `${self()} status` };
}

function refusedToken({ url, tokenFrom, local }: Where): Advice {
  const whose = tokenFrom === 'saved' ? 'saved token' : `token in ${tokenFrom ?? 'the call'}`;
  const sentence = `${url} does not accept the ${whose}.`;
  if (tokenFrom === 'saved') return { sentence, command: `${self()} doctor` };
  return {
    sentence,
    command: local
      ? `unset SWITCHYARD_TOKEN SWITCHYARD_TOKEN_FILE, then the same again`
      : 'export SWITCHYARD_TOKEN=<a token of that server>',
  };
}

/** What the operating system said, however deep it lies: fetch wraps it, and puts several addresses in one. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code === 'string') return code;
  return systemCode(error instanceof AggregateError ? error.errors[0] : error.cause);
}

/** `Invalid params: <path>: …` without what stands in the issues. */
function summary(message: string): string {
  return message.split(':')[0] ?? message;
}

function asSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
