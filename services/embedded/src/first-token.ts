import { readdirSync } from 'node:fs';
import { dropToken, keepPrivately, keepToken, readPrivately, readToken } from '@switchyard/launcher';
import type { FirstToken } from '@switchyard/secrets';
import { mintToken } from '@switchyard/security';

export interface SavedToken {
  /** The data directory. */
  dir: string;
  /** A token is valid for one tenant only. */
  tenant: string;
  /** The token of the environment. */
  environmentToken: string | undefined;
}

/**
 * Returns the saved token if it is valid, else the token of the environment, else a new one if no token has full access. Undefined if
 * tokens exist and none is known here. The command reads the file `token`; one file per tenant keeps the tokens when `tenantId` changes.
 */
export async function firstToken(saved: SavedToken, tokens: FirstToken): Promise<string | undefined> {
  const { dir, environmentToken } = saved;
  const before = readToken(dir);
  const token = (await findAccepted(saved, tokens)) ?? environmentToken;
  if (token !== undefined) {
    saveToken(saved, token);
    return token;
  }
  let minted: string | undefined;
  const admitted = await tokens.admit(() => {
    minted = mintToken('pat').token;
    writeToken(dir, minted);
    return minted;
  });
  if (admitted !== undefined) saveToken(saved, admitted);
  else if (minted !== undefined) restoreFile(dir, before); // another process was faster
  return admitted;
}

const TENANT_PREFIX = 'token.of-';
/** File for a token of an unknown tenant. */
const UNKNOWN_TENANT_FILE = 'token.before';

async function findAccepted({ dir, tenant }: SavedToken, tokens: FirstToken): Promise<string | undefined> {
  for (const token of [readToken(dir), readPrivately(dir, getFileName(tenant)), readPrivately(dir, UNKNOWN_TENANT_FILE)])
    if (token !== undefined && (await tokens.accepts(token))) return token;
  return undefined;
}

function saveToken({ dir, tenant }: SavedToken, token: string): void {
  if (readToken(dir) !== token) writeToken(dir, token);
  if (readPrivately(dir, getFileName(tenant)) !== token) keepPrivately(dir, getFileName(tenant), token);
}

/** Writes the token file and saves its previous content. */
function writeToken(dir: string, token: string): void {
  const before = readToken(dir);
  const tenantFiles = readdirSync(dir).filter((name) => name.startsWith(TENANT_PREFIX));
  if (before !== undefined && !tenantFiles.some((name) => readPrivately(dir, name) === before))
    keepPrivately(dir, UNKNOWN_TENANT_FILE, before);
  keepToken(dir, token);
}

function restoreFile(dir: string, token: string | undefined): void {
  if (token === undefined) dropToken(dir);
  else keepToken(dir, token);
}

function getFileName(tenant: string): string {
  return TENANT_PREFIX + encodeURIComponent(tenant.toWellFormed());
}
