" Syntax of vyre programs. A test compares the words here with the tables in vyre/.
if exists('b:current_syntax')
  finish
endif

syn keyword vyreDeclaration let
syn keyword vyreDeclaration program op nextgroup=vyreName skipwhite
syn keyword vyreDeclaration law nextgroup=vyreLaw skipwhite
syn keyword vyreConditional if else
syn keyword vyreRepeat for in break
syn keyword vyreControl return barrier
syn keyword vyreAccess read read_write uniform workgroup
syn keyword vyreType u32 i32 u64 u128 vec2u32 vec4u32 bool bytes f32 f16 bf16 tensor
syn keyword vyreConstant true false nan inf
syn keyword vyreId invocation_id workgroup_id local_id
syn keyword vyreReserved len select
syn keyword vyreAtomic atomic_add atomic_and atomic_or atomic_xor atomic_min atomic_max
syn keyword vyreAtomic atomic_exchange atomic_compare_exchange

syn keyword vyreLaw contained commutative associative identity left_identity right_identity
syn keyword vyreLaw contained idempotent self_inverse absorbing left_absorbing right_absorbing
syn keyword vyreLaw contained involution inverse_of distributive_over lattice_absorption de_morgan
syn keyword vyreLaw contained complement monotonic bounded trichotomy zero_product

" A function's name is one only before a parenthesis; elsewhere it can be a local.
syn match vyreCall /\<\h\w*\ze\s*(/ contains=vyreFunction,vyreAtomic,vyreCollective
syn keyword vyreFunction contained popcount clz ctz reverse_bits min max abs_diff mul_high
syn keyword vyreFunction contained add_sat sub_sat rotl rotr
syn keyword vyreAtomic contained atomic_load atomic_store
syn keyword vyreCollective contained workgroup_add workgroup_min workgroup_max workgroup_and
syn keyword vyreCollective contained workgroup_or workgroup_xor workgroup_scan_add
syn keyword vyreCollective contained workgroup_scan_min workgroup_scan_max workgroup_broadcast
syn keyword vyreCollective contained workgroup_shuffle

" So are these words where they mean nothing.
syn match vyreTyped /:\s*\zs\h\w*/ contains=vyreType
syn keyword vyreType contained u8 u16 i8 i16
syn match vyreRepeat /\<continue\ze\s*\%($\|}\|\/\/\)/
syn match vyreRepeat /\<while\ze\%(\s*(\|\s\+\%(\w\|\~\|!=\@!\)\)/
syn match vyreRepeat /\<step\ze\s\+\%(in\>\)\@!\w/
syn match vyreRepeat /\%(\<in\s\+\)\@<=reversed\ze\s\+[0-9A-Za-z_(]/
syn match vyreDeclaration /\<const\ze\s\+\h/
syn match vyreDeclaration /\<use\ze\s*"/
syn match vyreId /\<num_workgroups\ze\.[xyz]\>/

syn match vyreName contained /\h\w*\%(\.\h\w*\)*/
syn match vyreOp /\<\h\w*\%(\.\h\w*\)\+\ze\s*(/
syn match vyreLane /\.[xyzw]\>/

syn match vyreOperator /\.\.\|[-+*/%&|^~!<>=]/
syn match vyreBinding /@\s*\d\w*/
syn match vyreNumber /\<0x\x\%(_\?\x\)*\%(u32\|i32\|u64\|u128\)\?\>/
syn match vyreNumber /\<0b[01]\%(_\?[01]\)*\%(u32\|i32\|u64\|u128\)\?\>/
syn match vyreNumber /\<\d\%(_\?\d\)*\%(u32\|i32\|u64\|u128\)\?\>/
syn match vyreFloat /\<\d\%(_\?\d\)*\%(\.\d\%(_\?\d\)*\%([Ee][-+]\?\d\+\)\?\|[Ee][-+]\?\d\+\)\%(f32\|f16\|bf16\)\?\>/
syn match vyreFloat /\<0x\x\%(_\?\x\)*\%(\.\x\%(_\?\x\)*\)\?p[-+]\?\d\+\%(f32\|f16\|bf16\)\?\>/

syn region vyreString start=/"/ skip=/\\./ end=/"/ oneline contains=vyreEscape
syn match vyreEscape contained /\\["\\nt]/
syn match vyreComment +//.*+ contains=@Spell

hi def link vyreDeclaration Keyword
hi def link vyreConditional Conditional
hi def link vyreRepeat Repeat
hi def link vyreControl Statement
hi def link vyreAccess StorageClass
hi def link vyreType Type
hi def link vyreConstant Constant
hi def link vyreId Identifier
hi def link vyreReserved Function
hi def link vyreAtomic Function
hi def link vyreCollective Function
hi def link vyreLaw PreProc
hi def link vyreFunction Function
hi def link vyreName Function
hi def link vyreOp Function
hi def link vyreLane Identifier
hi def link vyreOperator Operator
hi def link vyreBinding Special
hi def link vyreNumber Number
hi def link vyreFloat Float
hi def link vyreString String
hi def link vyreEscape SpecialChar
hi def link vyreComment Comment

let b:current_syntax = 'vyre'
