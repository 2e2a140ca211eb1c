import { group } from '../../arguments/command-group.ts';
import { createToken, revokeToken, rotateToken } from './tokens-changes.ts';
import { listTokens } from './tokens-list.ts';

const SCOPES = ['rpc', 'admin', '*', 'mcp-client'];

export const tokens = group({
  name: 'tokens',
  about: 'Shows who may do what here, lets somebody in, and ends it. A secret is printed once, alone on standard output, and never again.',
  otherwise: 'list',
  verbs: {
    list: { about: 'the live tokens, without their secrets', flags: ['tenant'], run: listTokens },
    create: {
      takes: '<id>',
      about: 'makes one, and prints its secret',
      flags: ['scopes', 'own', 'lenient', 'agents', 'expires', 'budget', 'tools', 'sessions', 'tenant'],
      run: createToken,
    },
    rotate: {
      takes: '<id>',
      about: 'gives one a new secret, and prints it; the old one is dead at once',
      names: ['tokens'],
      flags: ['tenant'],
      run: rotateToken,
    },
    revoke: {
      takes: '<id>',
      about: 'ends one: no gateway accepts it any more',
      names: ['tokens'],
      flags: ['tenant', 'yes'],
      run: revokeToken,
    },
  },
  flags: {
    scopes: { value: 'a,b', about: `create: ${SCOPES.join(', ')}; rpc unless said`, names: SCOPES },
    own: { about: 'create: it reads and writes only sessions that it made' },
    lenient: { about: 'create: /v1 passes over fields that mean nothing here' },
    agents: { value: 'a,b', about: 'create: the agents that it may use', names: 'agents' },
    expires: { value: 'when', about: 'create: when it ends by itself: a date, or a time from now such as 30d' },
    budget: { value: 'what', about: 'create: the most it may use, such as 200000/hour,5usd/day: tokens, or US dollars' },
    tools: { value: 'a,b', about: 'create, with the scope mcp-client: the tools that it may call' },
    sessions: { value: 'a,b', about: 'create, with the scope mcp-client: the sessions that it may read', names: 'sessions' },
    tenant: { value: 'name', about: 'of another tenant' },
    yes: { about: 'revoke: without being asked' },
  },
  examples: [
    'tokens list',
    'tokens create laptop --scopes rpc --own',
    'tokens create contractor --agents oslo --expires 30d --budget 200000/hour,5usd/day',
    'tokens rotate laptop',
  ],
});
