export { tools } from './service.ts';
