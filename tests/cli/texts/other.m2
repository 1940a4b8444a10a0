S He go home .

S Fine !
