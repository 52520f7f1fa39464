" Comments, indentation, and `vyre` behind :make and gq.
if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1

setlocal commentstring=//\ %s comments=://
setlocal expandtab shiftwidth=2 softtabstop=2 smartindent
setlocal makeprg=vyre\ check\ %:S errorformat=%E%f:%l:%c:\ %m,%C%*\\d\ \|%.%#,%C\ %#\|%.%#,%Zfix:\ %m
setlocal formatprg=vyre\ fmt\ -

let b:undo_ftplugin = 'setl com< cms< et< sw< sts< si< mp< efm< fp<'
