export { defineObservability, observability } from './service.ts';
