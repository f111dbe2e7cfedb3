/**
 * A JSON Web Token or one like it (`eyJ` begins the base64url form of `{"`), with the dot behind its first part: the three letters alone are
 * in one of 250 sealed texts of a thousand letters by chance.
 */
export const tokenInText = /eyJ[\w-]{10,}\./;
