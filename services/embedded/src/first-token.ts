import { dropToken, keepToken, readToken } from '@switchyard/launcher';
import type { FirstToken } from '@switchyard/secrets';
import { mintToken } from '@switchyard/security';

/**
 * The saved token, if it still opens anything; else the one of the environment; else, while no token may do everything, a new
 * one. Undefined when there are tokens and none of them is known here.
 */
export async function firstToken(dir: string, given: string | undefined, tokens: FirstToken): Promise<string | undefined> {
  const saved = readToken(dir);
  if (saved !== undefined && (await tokens.accepts(saved))) return saved;
  if (given !== undefined) {
    keepToken(dir, given);
    return given;
  }
  let minted: string | undefined;
  const admitted = await tokens.admit(() => {
    minted = mintToken('pat').token;
    keepToken(dir, minted);
    return minted;
  });
  if (admitted === undefined && minted !== undefined) dropToken(dir); // somebody else was first
  return admitted;
}
