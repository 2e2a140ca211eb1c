export { defineService, type HealthReporter, type ServiceDefinition, type Setup } from './define-service.ts';
export type { SectionName, Settings } from './settings.ts';
