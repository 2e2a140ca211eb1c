const ENDING = '_OAUTH_TOKEN';

/**
 * The name of the secret with the access token of a profile, somebody's sign-in at a provider: `ANTHROPIC_WORK_OAUTH_TOKEN` for
 * the profile `work` at `anthropic`. It begins with the provider, so that lists of secrets show whose it is.
 */
export function oauthTokenName(provider: string, profile: string): string {
  return `${`${provider}_${profile}`.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}${ENDING}`;
}

/** Whether what is kept under this name is such a token. It is sent as one, not as a key. */
export function isOauthTokenName(name: string): boolean {
  return name.endsWith(ENDING);
}
