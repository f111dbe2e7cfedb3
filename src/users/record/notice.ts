import { z } from 'zod';

/** Notices that users see at the next login. */
export const noticeType = z.enum([
  'PasskeyAdded',
  'TOTPAdded',
  'RecoveryCodesAdded',
  'FactorRemoved',
  'FactorsReset',
  'PasskeySuspected',
  'PasswordSetByLink',
  'RecoveryCodeUsed',
  'TOTPSuspended',
  'AccountLinked',
  'AccountUnlinked',
]);

export type NoticeType = z.output<typeof noticeType>;

export interface Notice {
  readonly type: NoticeType;
  /** RFC 3339. */
  readonly time: string;
}

/** Returns the valid notices: known types with a parsable time. Other values in a record are not shown. */
export function noticesOf(kept: readonly { type?: string; time?: string }[] = []): readonly Notice[] {
  return kept.flatMap(({ type, time = '' }) => {
    const { data } = noticeType.safeParse(type);
    return data === undefined || Number.isNaN(Date.parse(time)) ? [] : [{ type: data, time }];
  });
}
