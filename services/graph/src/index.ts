export { graph } from './service.ts';
