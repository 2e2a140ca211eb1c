export { defineSecrets, secrets } from './service.ts';
export type { FirstToken } from './tokens/first-token.ts';
