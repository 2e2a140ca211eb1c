export { registry } from './service.ts';
