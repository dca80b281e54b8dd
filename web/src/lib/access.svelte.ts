// The rights of the user: those of the token.
class Access {
  /** False: the token is for looking only. */
  change = $state(true)
  /** Links to charts can be made for pages of other sites. */
  embed = $state(false)
}

export const access = new Access()
