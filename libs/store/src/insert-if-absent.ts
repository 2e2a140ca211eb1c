import { ServiceError } from '@switchyard/contracts';

/** False where somebody else was first. */
export async function insertIfAbsent(insert: () => Promise<unknown>): Promise<boolean> {
  try {
    await insert();
    return true;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'ALREADY_EXISTS') return false;
    throw error;
  }
}
