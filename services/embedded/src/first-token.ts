import { readdirSync } from 'node:fs';
import { dropToken, keepPrivately, keepToken, readPrivately, readToken } from '@switchyard/launcher';
import type { FirstToken } from '@switchyard/secrets';
import { mintToken } from '@switchyard/security';

export interface SavedToken {
  /** The data directory. */
  dir: string;
  /** A token of one tenant opens nothing of another. */
  tenant: string;
  /** That of the environment. */
  given: string | undefined;
}

/**
 * The saved token, if it still opens anything; else the one of the environment; else, while no token may do everything, a new
 * one. Undefined when there are tokens and none of them is known here. The file `token` is what the command reads; each tenant's is
 * kept beside it, so that whoever tries another tenant and comes back is let in again.
 */
export async function firstToken(saved: SavedToken, tokens: FirstToken): Promise<string | undefined> {
  const { dir, given } = saved;
  const before = readToken(dir);
  const known = (await findAccepted(saved, tokens)) ?? given;
  if (known !== undefined) {
    keep(saved, known);
    return known;
  }
  let minted: string | undefined;
  const admitted = await tokens.admit(() => {
    minted = mintToken('pat').token;
    write(dir, minted);
    return minted;
  });
  if (admitted !== undefined) keep(saved, admitted);
  else if (minted !== undefined) putBack(dir, before); // somebody else was first
  return admitted;
}

const OF = 'token.of-';
/** One that is of no tenant we know of: an earlier version did not keep them apart. */
const BEFORE = 'token.before';

async function findAccepted({ dir, tenant }: SavedToken, tokens: FirstToken): Promise<string | undefined> {
  for (const token of [readToken(dir), readPrivately(dir, nameOf(tenant)), readPrivately(dir, BEFORE)])
    if (token !== undefined && (await tokens.accepts(token))) return token;
  return undefined;
}

function keep({ dir, tenant }: SavedToken, token: string): void {
  if (readToken(dir) !== token) write(dir, token);
  if (readPrivately(dir, nameOf(tenant)) !== token) keepPrivately(dir, nameOf(tenant), token);
}

/** Nothing that stands in the file now is lost by it. */
function write(dir: string, token: string): void {
  const before = readToken(dir);
  const kept = readdirSync(dir).filter((name) => name.startsWith(OF));
  if (before !== undefined && !kept.some((name) => readPrivately(dir, name) === before)) keepPrivately(dir, BEFORE, before);
  keepToken(dir, token);
}

function putBack(dir: string, token: string | undefined): void {
  if (token === undefined) dropToken(dir);
  else keepToken(dir, token);
}

function nameOf(tenant: string): string {
  return OF + encodeURIComponent(tenant.toWellFormed());
}
