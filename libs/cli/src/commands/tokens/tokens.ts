import { group } from '../../arguments/command-group.ts';
import { createToken, revokeToken, rotateToken } from './tokens-changes.ts';
import { listTokens } from './tokens-list.ts';

const SCOPES = ['rpc', 'admin', '*', 'mcp-client'];

export const tokens = group({
  name: 'tokens',
  about:
    'Lists, creates, rotates and revokes access tokens. A secret is printed once, alone on standard output, and cannot be shown again.',
  otherwise: 'list',
  verbs: {
    list: { about: 'lists active tokens without their secrets', flags: ['tenant'], run: listTokens },
    create: {
      takes: '<id>',
      about: 'creates a token and prints its secret',
      flags: ['scopes', 'own', 'lenient', 'agents', 'expires', 'budget', 'tools', 'sessions', 'tenant'],
      run: createToken,
    },
    rotate: {
      takes: '<id>',
      about: 'replaces the secret of a token and prints the new one; the old one is invalid immediately',
      names: ['tokens'],
      flags: ['tenant'],
      run: rotateToken,
    },
    revoke: {
      takes: '<id>',
      about: 'revokes a token on every gateway',
      names: ['tokens'],
      flags: ['tenant', 'yes'],
      run: revokeToken,
    },
  },
  flags: {
    scopes: { value: 'a,b', about: `create: ${SCOPES.join(', ')}; default: rpc`, names: SCOPES },
    own: { about: 'create: restricts the token to its own sessions' },
    lenient: { about: 'create: /v1 ignores unsupported fields' },
    agents: { value: 'a,b', about: 'create: agents that the token may use', names: 'agents' },
    expires: { value: 'when', about: 'create: expiry as a date, or a time from now such as 30d' },
    budget: { value: 'what', about: 'create: spending limits in tokens or US dollars, such as 200000/hour,5usd/day' },
    tools: { value: 'a,b', about: 'create, with scope mcp-client: tools that the token may call' },
    sessions: { value: 'a,b', about: 'create, with scope mcp-client: sessions that the token may read', names: 'sessions' },
    tenant: { value: 'name', about: 'tenant; default: your own' },
    yes: { about: 'revoke: skips the confirmation' },
  },
  examples: [
    'tokens list',
    'tokens create laptop --scopes rpc --own',
    'tokens create contractor --agents oslo --expires 30d --budget 200000/hour,5usd/day',
    'tokens rotate laptop',
  ],
});
