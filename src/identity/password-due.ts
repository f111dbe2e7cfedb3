import type { ChangeVerdict } from '../users/passwords/change.ts';
import { stale } from './factor-step.ts';
import type { NewPasswordProblem } from './form-parts.ts';
import type { Progress } from './progress.ts';
import { aboutUser, askForPassword, type StepParts, succeed } from './steps.ts';
import type { Visit } from './visit.ts';

/** Result of a form with a new password. */
type NewPasswordVerdict = Exclude<ChangeVerdict, { outcome: 'refused' }> | { outcome: 'refused'; problem: NewPasswordProblem };

/**
 * Handles the form of a user who must change the password during a login.
 *
 * @throws SessionNotFound if the password has changed meanwhile; StatusError 429, 503, 504
 */
export async function takeNewPassword(parts: StepParts, visit: Visit, progress: Progress, form: URLSearchParams): Promise<void> {
  const verdict = await changed(parts, progress, form);
  if (verdict.outcome === 'overtaken') throw stale();
  if (verdict.outcome === 'refused') {
    visit.ctx.status = 422;
    return askForPassword(parts, visit, progress, verdict.problem);
  }
  const { account } = verdict;
  parts.services.audit.record({ audit: 'PasswordChanged', ...aboutUser(visit, account), outcome: 'success' });
  await succeed(parts, visit, { progress, account });
}

async function changed({ passwordChange }: StepParts, progress: Progress, form: URLSearchParams): Promise<NewPasswordVerdict> {
  const password = form.get('new_password') ?? '';
  if (form.get('new_password_again') !== password) return { outcome: 'refused', problem: 'Different' };
  return passwordChange.change(progress, password);
}
