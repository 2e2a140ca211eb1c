// Import rules. tests/boundaries/fixtures breaks each rule once, so that a test detects a rule that matches nothing.
import type { ICruiseOptions, IFlattenedRuleSet } from 'dependency-cruiser';

type Rule = NonNullable<IFlattenedRuleSet['forbidden']>[number] & { name: string };

const TEST_CODE = '\\.(test|contract|fixture|bench)\\.ts$|^(tests|bench|scripts)/';

const onlyIn = (name: string, library: string, packages: string, hint: string): Rule => ({
  name,
  severity: 'error',
  comment: `${hint} Import @switchyard/${library} instead.`,
  from: { path: '^(services|libs)/', pathNot: `^libs/(${library}|testkit)/|${TEST_CODE}` },
  to: { path: packages },
});

/** The rules. Each comment says what to do instead. */
export const rules: readonly Rule[] = [
  {
    name: 'services-are-islands',
    severity: 'error',
    comment: 'Services communicate over the bus. Declare an operation in the contract of the other service and call it.',
    from: { path: '^services/([^/]+)/', pathNot: '^services/embedded/' },
    to: { path: '^services/', pathNot: '^services/$1/' },
  },
  {
    name: 'libs-know-no-service',
    severity: 'error',
    comment: 'Libraries do not import services. Pass the dependency as an option.',
    from: { path: '^libs/' },
    to: { path: '^services/' },
  },
  {
    name: 'contracts-import-zod-only',
    severity: 'error',
    comment: 'Contracts are read in browsers: no Node modules, no other package.',
    from: { path: '^libs/contracts/src/', pathNot: TEST_CODE },
    to: { pathNot: '^libs/contracts/src/|(^|/)node_modules/zod/' },
  },
  onlyIn('only-bus-knows-nats', 'bus', '(^|/)node_modules/@nats-io/', 'Only libs/bus imports the NATS client.'),
  onlyIn(
    'only-store-knows-databases',
    'store',
    '(^|/)node_modules/mongodb/|^(node:)?sqlite$',
    'Only libs/store imports a database driver.',
  ),
  onlyIn('only-cache-knows-redis', 'cache', '(^|/)node_modules/ioredis/|^ioredis$', 'Only libs/cache imports the Redis client.'),
  onlyIn('only-models-knows-providers', 'models', '(^|/)node_modules/(@ai-sdk|ai|openai)/', 'Only libs/models imports a provider SDK.'),
  {
    name: 'only-tests-map-hosts',
    severity: 'error',
    comment: 'The host map of libs/egress sends requests to listeners of a test. Only tests and testkit may set it.',
    from: { path: '^(services|libs)/', pathNot: `^libs/(egress|testkit)/|${TEST_CODE}` },
    to: { path: '^libs/egress/src/testing\\.ts$' },
  },
  {
    name: 'only-browser-knows-playwright',
    severity: 'error',
    comment: 'Only the browser service imports a browser driver.',
    from: { path: '^(services|libs)/', pathNot: '^services/browser/' },
    to: { path: '(^|/)node_modules/playwright|^playwright' },
  },
  {
    name: 'no-cycles',
    severity: 'error',
    comment: 'Imports form a cycle. Move the shared code and types into a file of their own.',
    from: {},
    to: { circular: true },
  },
  {
    name: 'no-deep-imports',
    severity: 'error',
    comment: 'Import a package by its index.ts only. Export the name there if other packages may use it.',
    from: { path: '^(services|libs)/([^/]+)/' },
    to: {
      path: '^(services|libs)/[^/]+/src/',
      pathNot: ['^$1/$2/', '/src/index\\.ts$', '\\.contract\\.ts$', '^libs/egress/src/testing\\.ts$'],
    },
  },
  {
    name: 'no-test-code-in-production',
    severity: 'error',
    comment: 'Test code may import production code, never the other way round.',
    from: { path: '^(services|libs)/', pathNot: `${TEST_CODE}|^libs/testkit/` },
    to: { path: `${TEST_CODE}|^libs/testkit/` },
  },
  {
    name: 'cluster-imports-no-service',
    severity: 'error',
    comment: 'The local cluster starts services as programs and calls them like any client.',
    from: { path: '^scripts/cluster/' },
    to: { path: '^services/' },
  },
  {
    name: 'packages-import-no-script',
    severity: 'error',
    comment: 'Scripts are for developers. Move code that a service or library needs into a library.',
    from: { path: '^(services|libs)/' },
    to: { path: '^scripts/cluster/' },
  },
  {
    name: 'no-undeclared-packages',
    severity: 'error',
    comment: 'Declare it in the package.json of the workspace that uses it.',
    from: { path: '^(services|libs)/', pathNot: TEST_CODE },
    to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'npm-dev'], pathNot: '^node_modules/@types/' },
  },
];

export const options: ICruiseOptions = {
  doNotFollow: { path: 'node_modules' },
  tsPreCompilationDeps: true,
  combinedDependencies: false,
  enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'types'] },
};
