import { provision } from '@switchyard/service-kit';

await provision(process.env, { stay: process.argv.includes('--stay') });
